"""A CP-SAT search in a thread of its own, which tells of its progress through a queue."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ortools.sat.python import cp_model

from orchestrator_core.plan.schedule import Schedule

Read = Callable[[Callable[[Any], int]], Schedule]
"""The schedule of a solution, of which it is given the values."""

_LEAVE_AFTER = 0.03
"""Seconds in which a search that is told to stop does so, but for what cannot be interrupted."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A better schedule, its times in ticks turned into seconds."""

    rough: Schedule


@dataclass(frozen=True, slots=True)
class BetterBound:
    """No solution has an objective below this."""

    ticks: float


@dataclass(frozen=True, slots=True)
class End:
    """The search is over; `status` is CP-SAT's word for how, `work` its deterministic time."""

    status: str
    work: float


Event = Solution | BetterBound | End


class SearchThread:
    """Searches from its making on, until it ends or is told to stop."""

    def __init__(self, cp: Any, solver: cp_model.CpSolver, read: Read) -> None:
        self._cp, self._solver, self._read = cp, solver, read
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="orchestrator-cpsat", daemon=True)
        self._thread.start()

    def events(self, pause: float | None) -> Iterator[Event | None]:
        """What it tells, the end at last; None whenever so many seconds have brought nothing."""
        while True:
            event = None
            with contextlib.suppress(queue.Empty):
                event = self._events.get(timeout=pause)
            yield event
            if isinstance(event, End):
                return

    def stop(self) -> None:
        """Have it end soon; what it still finds is lost."""
        self._stopped = True
        until = time.monotonic() + _LEAVE_AFTER
        while self._thread.is_alive() and time.monotonic() < until:
            self._solver.stop_search()
            self._thread.join(0.01)

    def _run(self) -> None:
        status = "UNKNOWN"
        try:
            solver, put = self._solver, self._events.put
            solver.best_bound_callback = lambda ticks: put(BetterBound(ticks))
            code = solver.solve(self._cp, _Watch(self))
            status = str(solver.status_name(code))
            if code in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                put(Solution(self._read(solver.value)))
                put(BetterBound(solver.best_objective_bound))
        finally:
            self._events.put(End(status, self._solver.deterministic_time))

    def tell(self, watch: _Watch) -> None:
        """Pass on a solution."""
        if self._stopped:
            watch.stop_search()
        else:
            self._events.put(Solution(self._read(watch.value)))


class _Watch(cp_model.CpSolverSolutionCallback):
    """Tells each solution."""

    def __init__(self, thread: SearchThread) -> None:
        super().__init__()
        self._thread = thread

    def on_solution_callback(self) -> None:
        self._thread.tell(self)
