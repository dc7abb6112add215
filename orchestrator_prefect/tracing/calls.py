"""Who may be called by the body of a flow that is traced, and what is called instead."""

from __future__ import annotations

import asyncio
import builtins
import functools
import logging
import time
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from prefect.flows import Flow, InfrastructureBoundFlow
from prefect.futures import PrefectFutureList, wait
from prefect.logging import get_run_logger
from prefect.tasks import Task, task

from orchestrator_core.graph.text import shown
from orchestrator_prefect.tracing.followed import follow, follow_class, is_of_task
from orchestrator_prefect.tracing.futures import UNTIMED, TracedFuture
from orchestrator_prefect.tracing.open_files import may_write, prints, writes
from orchestrator_prefect.tracing.pure import HANDING_ON, as_known, is_pure, package, why_not
from orchestrator_prefect.tracing.stand_ins import StandIn, find_stand_in
from orchestrator_prefect.tracing.watch import is_users, refuse

Function = Callable[..., Any]

UNTOUCHED = (builtins.super, builtins.locals, builtins.globals, builtins.vars, builtins.dir, task)
"""What looks at the frame that calls it, or takes a function that must stay as it is: the key of a
task is made of its code."""

LOOKS = (type, isinstance, callable, hasattr, getattr, repr, ascii, id)
"""What tells one kind of value from another without asking the value."""

ELSEWHERE = "call it in a task, at the top of the file, or run the flow once with @optimized_flow"

TO_A_FILE = "may write to a file that is open"

TASK_METHODS = ("submit", "map", "with_options")


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Takes all, does nothing."""


async def _no_sleep(delay: float, result: Any = None) -> Any:
    return result


def _silent(*args: Any, **kwargs: Any) -> logging.Logger:
    return logging.getLogger("orchestrator.traced")


def _wait(futures: Any, timeout: float | None = None) -> Any:
    if timeout is not None:
        refuse(UNTIMED)
    return wait(futures)


INSTEAD: dict[Any, Function] = {
    builtins.print: _nothing,
    time.sleep: _nothing,
    asyncio.sleep: _no_sleep,
    get_run_logger: _silent,
    wait: _wait,
}


def allowed(function: Any) -> Any:
    """What is to be called for it.

    Raises:
        Refused: if nobody knows what it would do.
    """
    if isinstance(function, StandIn):
        refuse(f"{function._what} is called, which only a run can tell")
    if isinstance(function, FunctionType | type(time.sleep)) and function in INSTEAD:
        return INSTEAD[function]
    if any(function is each for each in UNTOUCHED):
        return function
    if isinstance(function, Task | Flow):
        return _callable_itself(function)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, TracedFuture | PrefectFutureList | StandIn):
        return function
    if isinstance(owner, Task | Flow):
        return _method(owner, function)
    if prints(function):
        return _nothing
    if writes(function):
        refuse(f"{function.__name__}() {TO_A_FILE}", ELSEWHERE)
    return _by_kind(function)


def _callable_itself(thing: Any) -> Any:
    if isinstance(thing, InfrastructureBoundFlow):
        refuse(f"flow {shown(thing.name)} starts machines of its own")
    return thing


def _method(owner: Any, method: Any) -> Any:
    possible = TASK_METHODS if isinstance(owner, Task) else ("with_options",)
    if method.__name__ not in possible:
        what = "task" if isinstance(owner, Task) else "flow"
        refuse(f"{method.__name__}() of {what} {shown(owner.name)} asks the Prefect server")
    return method


def _by_kind(function: Any) -> Any:
    if isinstance(function, MethodType):
        found = _by_kind(function.__func__)
        return function if found is function.__func__ else _heeded(function, _name(function))
    if isinstance(function, FunctionType):
        return _function(function)
    if isinstance(function, functools.partial):
        allowed(function.func)
        return function
    if isinstance(function, type):
        return _class(function)
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None:
        allowed(wrapped)
        return function
    if follow_class(type(function)):
        return function
    return _heeded(function, _name(function))


def _function(function: FunctionType) -> Any:
    if is_of_task(function):
        refuse(
            f"{function.__name__}() is what a task runs, called as a function",
            "submit the task, or run the flow once with @optimized_flow",
        )
    if is_users(function.__code__):
        return follow(function)
    inner = getattr(function, "__wrapped__", None)
    if inner is not None:
        allowed(inner)
    return _heeded(function, f"{function.__globals__.get('__name__')}.{function.__qualname__}")


def _class(cls: type) -> Any:
    if issubclass(cls, BaseException) or follow_class(cls):
        return cls
    return _heeded(cls, f"{cls.__module__}.{cls.__qualname__}")


def _name(function: Any) -> str:
    """Module and name of something that is not written in Python."""
    owner = getattr(function, "__self__", None)
    own = getattr(function, "__qualname__", None) or getattr(function, "__name__", "")
    if isinstance(function, MethodType):
        return f"{function.__func__.__module__}.{function.__qualname__}"
    if owner is None or hasattr(owner, "__spec__"):
        home = getattr(function, "__module__", None) or type(function).__module__
        objclass = getattr(function, "__objclass__", None)
        return f"{objclass.__module__ if objclass else home}.{own or type(function).__qualname__}"
    return f"{(owner if isinstance(owner, type) else type(owner)).__module__}.{own}"


def _heeded(function: Any, name: str) -> Any:
    """The function, whose arguments are looked at when it is called."""
    if not is_pure(name):
        refuse(f"{as_known(name)}() {why_not(name)}", ELSEWHERE)
    depth = 2 if package(name) not in HANDING_ON else 0 if function in LOOKS else None

    def heeded(*args: Any, **kwargs: Any) -> Any:
        for each in (*args, *kwargs.values()):
            found = None if depth is None else find_stand_in(each, depth)
            if found is not None:
                refuse(f"{as_known(name)}() looks at {found._what}, which only a run can tell")
            if may_write(each):
                refuse(f"{as_known(name)}() {TO_A_FILE}", ELSEWHERE)
            if callable(each) and not isinstance(each, StandIn):
                allowed(each)
        return function(*args, **kwargs)

    return heeded
