"""Hints: what users say about tasks that Dask cannot know, by ``dask.annotate(orchestrator=...)``.

    with dask.annotate(orchestrator={"seconds": 20, "memory": "4 GiB", "workers": ["gpu"]}):
        model = train(data)

A hint is never a pin: it says what to believe and what to wish for. Where the graph is left to
Dask, it still says where tasks may run (`Heeding`), and no more. A wrong one is ignored, with one
line in the log; the tasks run. Who can tell the user while the task is submitted refuses it
(`hint_of`).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dask.base import annotate, get_annotations
from dask.utils import parse_bytes, parse_timedelta

from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.directives import Key
from orchestrator_core.graph.amounts import NOTHING, Amounts
from orchestrator_core.graph.figures import as_float
from orchestrator_core.graph.text import ALLOWED, is_name, shown
from orchestrator_core.plan.objective import Objective
from orchestrator_core.settings.quantities import parse_seconds

log = logging.getLogger("orchestrator.dask")

ANNOTATION = "orchestrator"
"""The annotation that holds the hints of a task."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What a user says about a task; None where nothing is said.

    Attributes:
        seconds: on a worker of speed 1; believed until something was learned.
        memory: bytes while it runs. output_bytes: size of its output; as `seconds`.
        kind: what durations are learned about; Dask's prefix of the key otherwise.
        workers: kinds or names of workers on which it may run, as long as there are any.
        resources: amounts that it occupies while it runs.
        release, due, deadline: seconds from the arrival of the graph; before its release nothing
            is begun, where Dask is directed. weight: of each second late.
        objective: what the plan of the whole graph is to minimise.
    """

    seconds: float | None = None
    memory: float | None = None
    output_bytes: float | None = None
    kind: str | None = None
    workers: tuple[str, ...] | None = None
    resources: Amounts = NOTHING
    release: float | None = None
    due: float | None = None
    weight: float | None = None
    deadline: float | None = None
    objective: str | None = None

    @property
    def says_where(self) -> bool:
        """Does it say where the task may run?"""
        return self.workers is not None or bool(self.resources)

    @property
    def wishes_for_more(self) -> bool:
        """Does it ask for what nobody but a plan sees to?"""
        asked = self.due, self.deadline, self.objective
        return any(each is not None for each in asked)


def read_hints(stated: Mapping[Key, object]) -> dict[Key, Hint]:
    """The hints in annotations by key; each wrong one is logged once, however many tasks have it.

    Runs in any thread.
    """
    known: dict[int, Hint] = {}
    wrong: dict[str, Key] = {}
    hints: dict[Key, Hint] = {}
    for key, value in stated.items():
        # A layer's tasks share one object, which `stated` keeps alive.
        if id(value) not in known:
            known[id(value)], refused = _guarded(value)
            wrong |= {why: key for why in refused if why not in wrong}
        hints[key] = known[id(value)]
    for why, key in wrong.items():
        log.warning("a hint of task %s is ignored: %s", shown(str(key)), why)
    return hints


def hint_of(value: object) -> Hint:
    """The hint in an annotation.

    Raises:
        InvalidInput: if any part of it is wrong.
    """
    hint, refused = _understood(value)
    if refused:
        raise InvalidInput("; ".join(refused))
    return hint


def annotations_here() -> Mapping[str, Any]:
    """What ``dask.annotate`` says, where this is called, of tasks that are made now."""
    found: Mapping[str, Any] = get_annotations()
    return found


def needing(resources: Mapping[str, float]) -> AbstractContextManager[None]:
    """Within it, tasks are made that no worker without these resources gets, whoever decides."""
    if not resources:
        return nullcontext()
    return annotate(resources=dict(resources))


def wishing(hint: Hint) -> AbstractContextManager[None]:
    """Within it, tasks are made that run on the hint's workers alone, as long as there are any, and
    not before its release."""
    said: dict[str, Any] = {} if hint.workers is None else {"workers": list(hint.workers)}
    if hint.release:
        said["release"] = hint.release
    return annotate(**{ANNOTATION: said}) if said else nullcontext()


def objective_of(hints: Iterable[Hint]) -> str | None:
    """The objective that the graph asks for; None if it asks for none, or for several."""
    asked = sorted({hint.objective for hint in hints if hint.objective is not None})
    if len(asked) > 1:
        log.warning("hints of one graph ask for several objectives, %s: all are ignored", asked)
    return asked[0] if len(asked) == 1 else None


def _guarded(value: object) -> tuple[Hint, list[str]]:
    """As `_understood`; objects of the users' own may raise whatever is asked of them."""
    try:
        return _understood(value)
    except Exception as error:
        return Hint(), [f"it cannot be read: {type(error).__name__}"]


def _understood(value: object) -> tuple[Hint, list[str]]:
    """The hint, and why parts of it were left out."""
    known = ", ".join(READERS)
    if not isinstance(value, Mapping):
        return Hint(), [f"{ANNOTATION}={shown(value)} is no mapping of hints; there are {known}"]
    found: dict[str, Any] = {}
    refused: list[str] = []
    for name, stated in value.items():
        reader = READERS.get(name) if isinstance(name, str) else None
        if reader is None:
            refused.append(f"there is no hint {shown(name)}; there are {known}")
            continue
        try:
            found[name] = reader(stated)
        except (InvalidInput, ValueError, TypeError, KeyError) as error:
            refused.append(f"{name} = {shown(stated)}: {error}")
    return Hint(**found), refused


def _seconds(value: object) -> float:
    if isinstance(value, timedelta):
        value = value.total_seconds()
    return _quantity(value, _parse_seconds, 'seconds >= 0, or text such as "20s"')


def _duration(value: object) -> float:
    try:
        return _seconds(value)
    except InvalidInput as error:
        if isinstance(value, str) and "±" in value:
            raise InvalidInput(f"{error}; a spread is taken in a flow's `estimates`") from None
        raise


def _bytes(value: object) -> float:
    return _quantity(value, parse_bytes, 'bytes >= 0, or text such as "4 GiB"')


def _weight(value: object) -> float:
    return _amount(value, "a number >= 0")


def _parse_seconds(text: str) -> float:
    """As all of this project reads a time, or else as Dask does."""
    try:
        return parse_seconds(text)
    except InvalidInput:
        return float(parse_timedelta(text))


def _quantity(value: object, parse: Callable[[str], Any], expected: str) -> float:
    try:
        # To Dask, no text at all is one byte.
        number = parse(value) if isinstance(value, str) and value.strip() else value
    except (ValueError, KeyError, OverflowError):
        raise InvalidInput(f"expected {expected}") from None
    return _amount(number, expected)


def _amount(value: object, expected: str) -> float:
    # True is a number to Python, and never meant as one.
    number = math.nan if isinstance(value, bool) else as_float(value)
    if not 0 <= number < math.inf:
        raise InvalidInput(f"expected {expected}")
    return number


def _name(value: object) -> str:
    if not isinstance(value, str) or not is_name(value):
        raise InvalidInput(f"expected text of {ALLOWED}")
    return value


def _names(value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple, set, frozenset)) or not names:
        raise InvalidInput("expected kinds or names of workers, at least one")
    return tuple(sorted(map(_name, names)))


def _amounts(value: object) -> Amounts:
    if not isinstance(value, Mapping):
        raise InvalidInput('expected amounts by name, such as {"GPU": 1}')
    return Amounts(value)


def _objective(value: object) -> str:
    if not isinstance(value, (str, tuple, list)):
        raise InvalidInput('expected criteria, such as "tardiness,makespan"')
    return str(Objective.of(value if isinstance(value, str) else tuple(map(str, value))))


READERS: Mapping[str, Callable[[object], Any]] = {
    "seconds": _duration,
    "memory": _bytes,
    "output_bytes": _bytes,
    "kind": _name,
    "workers": _names,
    "resources": _amounts,
    "release": _seconds,
    "due": _seconds,
    "weight": _weight,
    "deadline": _seconds,
    "objective": _objective,
}
"""The hints that there are, and how each is read."""
