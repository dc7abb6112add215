"""Told: what events say, checked and put beside what was planned (stage 3, repair)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.figures import as_float
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.graph.text import shown
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.events import (
    POSSIBLE,
    Event,
    Failed,
    Finished,
    Held,
    Occupied,
    Pausable,
    Running,
    Waiting,
    WorkerLost,
)
from orchestrator_core.plan.repair.observe import TOLD
from orchestrator_core.plan.repair.planned import Planned

NOT_BEGUN = 2
"""In `known`: an event says that the task has to begin (again)."""


@dataclass(eq=False)
class Told:
    """What has happened, as far as it was told; n single tasks.

    Attributes:
        known: (n,) 0 where nobody said anything, else TOLD or NOT_BEGUN.
        start, end, worker, mode: (n,) as told, or else as planned.
        failed: (n,) has to run again. alive: (w,) workers of the cluster.
        copies: (single task, worker, since). pausable: single tasks.
        occupied: (worker, until) of each thread that somebody else has.
        pieces: (start, end) of each piece of the tasks that were told of and had paused as planned.
    """

    known: Ints
    start: Floats
    end: Floats
    worker: Ints
    mode: Ints
    failed: NDArray[np.bool_]
    alive: NDArray[np.bool_]
    copies: list[tuple[int, int, float]] = field(default_factory=list)
    pausable: list[int] = field(default_factory=list)
    occupied: list[tuple[int, float]] = field(default_factory=list)
    pieces: dict[int, tuple[tuple[float, float], ...]] = field(default_factory=dict)


def hear(
    basis: Basis, planned: Planned, now: float, events: Iterable[Event], lost: frozenset[str]
) -> Told:
    """The events beside the plan; `lost`: workers of which it is known that they are gone.

    Raises:
        InvalidInput: for what cannot be: an unknown task or worker, an event after `now`, two
            events that contradict each other, a worker that is lost twice.
    """
    if not 0 <= as_float(now) < math.inf:
        raise InvalidInput(f"now is {shown(now)}; it must be a finite number of seconds >= 0")
    n, names = basis.problem.n_tasks, basis.instance.cluster.names
    told = Told(
        known=np.zeros(n, dtype=np.int64),
        start=planned.start.copy(),
        end=planned.end.copy(),
        worker=planned.worker.copy(),
        mode=planned.mode.copy(),
        failed=np.zeros(n, dtype=np.bool_),
        alive=np.array([name not in lost for name in names]),
    )
    listener = _Listener(basis, planned, now, told, lost)
    for event in events:
        listener.hear(event)
    if not told.alive.any():
        raise InvalidInput(f"all workers are lost ({', '.join(names)}); nothing can run any more")
    return told


class _Listener:
    """One event after the other."""

    def __init__(
        self, basis: Basis, planned: Planned, now: float, told: Told, lost: frozenset[str]
    ) -> None:
        self.basis, self.planned, self.now, self.told = basis, planned, now, told
        self.place = {name: i for i, name in enumerate(planned.worker_names)}
        self.lost = set(lost)

    def hear(self, event: Event) -> None:
        match event:
            case Finished():
                self._ran(event, event.end)
            case Running():
                self._ran(event, event.expected_end)
            case Waiting() | Failed():
                unit = self._unit(event)
                self._say(unit, NOT_BEGUN, event)
                self.told.failed[unit] = isinstance(event, Failed)
            case Held():
                since = self._moment(event.since, event)
                self.told.copies.append((self._unit(event), self._worker(event.worker), since))
            case WorkerLost():
                self._lose(event.name)
            case Pausable():
                self.told.pausable.append(self._unit(event))
            case Occupied():
                until = self._still(event.until, event, "occupied until")
                self.told.occupied.append((self._worker(event.worker), until))
            case _:
                raise InvalidInput(f"{shown(event)} is no event of a repair; {POSSIBLE}")

    def _unit(self, event: Finished | Running | Waiting | Failed | Held | Pausable) -> int:
        return self.basis.unit(event.task, event.instance)

    def _worker(self, name: str) -> int:
        if not isinstance(name, str) or name not in self.place:
            raise InvalidInput(f"there is no worker {shown(name)}; there are {sorted(self.place)}")
        return self.place[name]

    def _moment(self, moment: float, event: Event) -> float:
        seconds = as_float(moment)
        if not 0 <= seconds <= self.now:
            raise InvalidInput(
                f"{event!r} is not in the past: now is {self.now:g} s, and it names "
                f"{shown(moment)} s"
            )
        return seconds

    def _still(self, moment: float, event: Event, what: str) -> float:
        seconds = as_float(moment)
        if not self.now <= seconds < math.inf:
            raise InvalidInput(f"{event!r}: it is {what} before now, {self.now:g} s")
        return seconds

    def _say(self, unit: int, what: int, event: Event) -> None:
        if self.told.known[unit]:
            raise InvalidInput(
                f"there are two events on {self.basis.label(unit)}; the second: {event}"
            )
        self.told.known[unit] = what

    def _lose(self, name: str) -> None:
        place = self._worker(name)
        if name in self.lost:
            raise InvalidInput(f"worker {name!r} is lost already")
        self.lost.add(name)
        if place < len(self.told.alive):
            self.told.alive[place] = False

    def _ran(self, event: Finished | Running, end: float) -> None:
        told, unit = self.told, self._unit(event)
        self._say(unit, TOLD, event)
        if isinstance(event, Finished):
            self._moment(end, event)
        else:
            self._still(end, event, "expected to end")
        told.worker[unit], told.mode[unit] = self._where(unit, event)
        told.start[unit], told.end[unit] = self._begin(unit, event, end), end
        pieces = self._pieces(unit, self.now if isinstance(event, Running) else end)
        if len(pieces) > 1:
            told.pieces[unit] = pieces

    def _pieces(self, unit: int, last: float) -> tuple[tuple[float, float], ...]:
        """The planned pieces that had begun by `last`, the first and the last as told."""
        told = self.told
        if told.worker[unit] != self.planned.worker[unit]:
            return ()
        start, end = float(told.start[unit]), float(told.end[unit])
        begun = [
            (since, until)
            for since, until in self.planned.pieces.get(unit, ())
            if since < end and since <= last and until > start
        ]
        if begun:
            begun[0] = start, begun[0][1]
            begun[-1] = begun[-1][0], end
        return tuple(begun)

    def _where(self, unit: int, event: Finished | Running) -> tuple[int, int]:
        problem, label = self.basis.problem, self.basis.label(unit)
        if event.worker is None and not self.planned.known[unit]:
            raise InvalidInput(f"{label} is not in the schedule; say on which worker it ran")
        worker = self.told.worker[unit] if event.worker is None else self._worker(event.worker)
        mode = self.told.mode[unit]
        if event.mode is not None:
            modes = range(problem.mode_begin[unit], problem.mode_end[unit])
            if not (isinstance(event.mode, Integral) and 0 <= event.mode < len(modes)):
                raise InvalidInput(f"{label} has no mode {shown(event.mode)}")
            mode = modes[event.mode]
        return int(worker), int(mode)

    def _begin(self, unit: int, event: Finished | Running, end: float) -> float:
        if event.start is not None:
            start = self._moment(event.start, event)
            if start > end:
                raise InvalidInput(f"{event!r} starts after its end")
            return start
        planned = float(self.planned.start[unit])
        if self.planned.known[unit] and planned <= min(end, self.now):
            return planned
        mode, worker = self.told.mode[unit], self.told.worker[unit]
        seconds = np.inf
        if worker < self.basis.problem.n_workers:
            seconds = self.basis.problem.seconds[mode, worker]
        if not math.isfinite(seconds):
            seconds = 0.0
        return float(max(0.0, min(end - seconds, self.now)))
