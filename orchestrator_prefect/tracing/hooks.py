"""What rewritten functions ask before they call, loop, enter, import or look.

Outside of traces they get what they would have got without asking.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from orchestrator_prefect.tracing import rewritten as names
from orchestrator_prefect.tracing.calls import allowed
from orchestrator_prefect.tracing.followed import HOOKS, follow_class
from orchestrator_prefect.tracing.pure import is_pure
from orchestrator_prefect.tracing.stand_ins import StandIn
from orchestrator_prefect.tracing.watch import refuse, watching


def _call(function: Any) -> Any:
    watch = watching()
    if watch is None:
        return function
    watch.tick()
    return allowed(function)


def _plain(value: Any) -> Any:
    if isinstance(value, StandIn):
        refuse(f"{value._what} is looked at, which only a run can tell")
    return value


def _each(value: Any) -> Any:
    watch = watching()
    if watch is None or hasattr(type(value), "__aiter__"):
        return value
    follow_class(type(value))

    def ticking(values: Iterator[Any]) -> Iterator[Any]:
        for each in values:
            watch.tick()
            yield each

    return ticking(iter(value))


def _enter(value: Any) -> Any:
    _plain(value)
    if watching() is not None and not follow_class(type(value)):
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        if not is_pure(kind):
            refuse(f"what entering a {kind} does is not known", "enter it in a task")
    return value


def _import(name: str, level: int) -> None:
    if watching() is None:
        return
    if level or not (name in sys.modules or is_pure(name)):
        shown = "." * level + name
        refuse(f"importing {shown} here runs its code", "import it at the top of the file")


def _tick() -> bool:
    watch = watching()
    if watch is not None:
        watch.tick()
    return True


def _class() -> None:
    refuse("a class is made here", "make it at the top of the file")


HOOKS |= {
    names.CALL: _call,
    names.CLASS: _class,
    names.EACH: _each,
    names.ENTER: _enter,
    names.IMPORT: _import,
    names.PLAIN: _plain,
    names.TICK: _tick,
}
