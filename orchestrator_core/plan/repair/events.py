"""Events: what has happened to a running schedule, as plain values (stage 3, repair).

Times are in seconds from the start of the run, as in the schedule. `instance` says which of the
task's `count` instances is meant. What nobody reports is taken to have gone as planned where that
is possible (see `observe.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.text import shown


@dataclass(frozen=True, slots=True)
class Finished:
    """A task instance has ended.

    Attributes:
        end: when. start: when it began; None for the planned start, or, if that is later than
            `end`, for its end less its duration.
        worker, mode: where and how it ran; None for as planned.
    """

    task: str
    end: float
    start: float | None = None
    worker: str | None = None
    mode: int | None = None
    instance: int = 0


@dataclass(frozen=True, slots=True)
class Running:
    """A task instance is running.

    Attributes:
        expected_end: when it will end, by what is known now; not before `now`.
        start: when it began; None for the planned start. worker, mode: as in `Finished`.
    """

    task: str
    expected_end: float
    start: float | None = None
    worker: str | None = None
    mode: int | None = None
    instance: int = 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """A task instance has not begun, although the schedule says so."""

    task: str
    instance: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """A run of a task instance came to nothing, or its output is worthless: it must run again. What
    reads it is taken not to have begun, unless that is told, too."""

    task: str
    instance: int = 0


@dataclass(frozen=True, slots=True)
class Held:
    """A worker has the output of a task instance that has ended, since `since`."""

    task: str
    worker: str
    since: float
    instance: int = 0


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker is gone, with what ran there and every output that it held. One that comes back has
    none of that: it needs another name, or a later repair would believe that it has."""

    name: str


@dataclass(frozen=True, slots=True)
class Pausable:
    """A running task instance may stop at its next checkpoint, and go on later on its worker."""

    task: str
    instance: int = 0


@dataclass(frozen=True, slots=True)
class Occupied:
    """A thread of a worker is somebody else's until then, as far as this repair is concerned: it
    has to be told the next one, too.

    Attributes:
        until: seconds, not before `now`.
    """

    worker: str
    until: float


Event = Finished | Running | Waiting | Failed | Held | WorkerLost | Pausable | Occupied
"""Whatever changes the problem itself is no event: new tasks and edges, joined workers and other
durations are told by handing in the new instance."""

POSSIBLE = f"there are {', '.join(event.__name__ for event in get_args(Event))}"


def listed(events: object) -> tuple[Event, ...]:
    """The events; what they say is checked where they are heard.

    Raises:
        InvalidInput: for what is no list, such as an event by itself.
    """
    if isinstance(events, str) or not isinstance(events, Iterable):
        one = events if isinstance(events, get_args(Event)) else WorkerLost("w0")
        raise InvalidInput(f"events is {shown(events)}; give a list: [{one!r}]")
    return tuple(events)


def names_of(wanted: object) -> tuple[str, ...]:
    """The names of tasks; whether there are such is seen where they are looked up.

    Raises:
        InvalidInput: for what is no list of them, such as a name by itself.
    """
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        one = wanted if isinstance(wanted, str) else "train"
        raise InvalidInput(f"wanted is {shown(wanted)}; give a list of tasks: [{shown(one)}]")
    return tuple(wanted)
