"""Replan: a repaired schedule, and what was moved, kept and made again, and why (repair)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.choosing import Option
from orchestrator_core.plan.repair.planned import Planned
from orchestrator_core.plan.repair.remainder import Remainder, remainder_of
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import BLOCKED, WAITING, Sends
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Move:
    """A task instance that was planned on one worker and is now on another, and why."""

    task: str
    source: str
    destination: str
    reason: str
    instance: int = 0


@dataclass(frozen=True, eq=False)
class Replan:
    """A repaired schedule.

    Attributes:
        schedule: all tasks but those that are blocked: what has begun as it really was, or is
            expected, the rest as planned now. Transfers that came to nothing are left out.
        now: seconds; nothing new starts before.
        kept_makespan: seconds, if everything had stayed where it was planned; infinite where that
            is not possible.
        seconds: wall seconds that the repair took.
    """

    schedule: Schedule
    now: float
    kept_makespan: float
    seconds: float
    _basis: Basis
    _planned: Planned
    _remains: Remains
    _option: Option
    _sends: Sends
    _lost: frozenset[str]

    def __repr__(self) -> str:
        """What matters of it on a line; the attributes are there for the rest."""
        counts = {
            "moved": len(self.moved),
            "kept": len(self.kept),
            "run again": len(self.again),
            "blocked": len(self.blocked),
            "late": len(self.missed),
            "new": int(np.count_nonzero(self._waiting & ~self._planned.known)),
        }
        told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        stay = f"{self.kept_makespan:.6g} s" if np.isfinite(self.kept_makespan) else "not possible"
        return (
            f"Replan({self.schedule!r}, from {self.now:.6g} s on: {told or 'nothing is left'}; "
            f"with everything kept in its place: {stay})"
        )

    def _repr_html_(self) -> str:
        from orchestrator_core.plan.picture import picture

        return f"<p>{escape(repr(self))}</p>{picture(self.schedule)}"

    @property
    def makespan(self) -> float:
        """Seconds from the start of the run to its last end."""
        return self.schedule.makespan

    @cached_property
    def moved(self) -> tuple[Move, ...]:
        """What is now planned on another worker than before, by name."""
        return tuple(self._move(unit) for unit in self._moved_units.tolist())

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """Tasks of which every waiting instance stays where it was planned."""
        problem, names = self._basis.problem, self._basis.instance.graph.names
        waiting = self._waiting & self._planned.known
        here = np.unique(problem.task[waiting])
        away = np.unique(problem.task[self._moved_units])
        return tuple(names[task] for task in np.setdiff1d(here, away).tolist())

    @cached_property
    def again(self) -> tuple[str, ...]:
        """Tasks that had begun or ended, and of which an instance has to run again."""
        task = np.unique(self._basis.problem.task[self._remains.again])
        return tuple(self._basis.instance.graph.names[i] for i in task.tolist())

    @cached_property
    def blocked(self) -> tuple[str, ...]:
        """Tasks of which an instance is not in the schedule, since it cannot run as things are: no
        worker that is left may run it, the stock does not suffice, or no order was found in which
        it fits into memory; and those that need such a task. The next repair tries again."""
        task = np.unique(self._basis.problem.task[self._remains.rest.status == BLOCKED])
        return tuple(self._basis.instance.graph.names[i] for i in task.tolist())

    @cached_property
    def missed(self) -> tuple[str, ...]:
        """Tasks of which a waiting instance is now planned to end after its deadline."""
        task = np.unique(self._basis.problem.task[self._missed_units()])
        return tuple(self._basis.instance.graph.names[i] for i in task.tolist())

    @cached_property
    def remainder(self) -> Remainder:
        """The rest of the run as an instance of its own, for `check_replan`."""
        missed = self._missed_units().tolist()
        return remainder_of(self._basis, self._remains, self._option.placed, self._sends, missed)

    @property
    def _waiting(self) -> NDArray[np.bool_]:
        """(n,) single tasks that must still begin, or go on."""
        return np.asarray(self._remains.rest.status == WAITING, dtype=np.bool_)

    def _missed_units(self) -> Ints:
        end, deadline = self._option.placed.end, self._basis.problem.deadline
        late = end > deadline + 1e-9 * max(1.0, self.schedule.makespan)
        return np.flatnonzero(late & self._waiting)

    @cached_property
    def _moved_units(self) -> Ints:
        waiting = self._waiting & self._planned.known
        waiting &= self._remains.rest.left < 0
        return np.flatnonzero(waiting & (self._option.placed.worker != self._planned.worker))

    def _move(self, unit: int) -> Move:
        problem, graph = self._basis.problem, self._basis.instance.graph
        names = self._planned.worker_names
        source = names[self._planned.worker[unit]]
        return Move(
            task=graph.names[problem.task[unit]],
            source=source,
            destination=names[self._option.placed.worker[unit]],
            reason=self._reason(unit, source),
            instance=int(problem.instance[unit]),
        )

    def _reason(self, unit: int, source: str) -> str:
        problem, worker = self._basis.problem, self._planned.worker[unit]
        if source in self._lost:
            return f"worker {source} was lost"
        modes = slice(problem.mode_begin[unit], problem.mode_end[unit])
        if not np.isfinite(problem.seconds[modes, worker]).any():
            return f"worker {source} cannot run it any more"
        if not np.isfinite(self.kept_makespan):
            return "there was no room where it was planned"
        saved = 1 - self.makespan / self.kept_makespan if self.kept_makespan > 0 else 0.0
        if saved <= 0:
            return "deadlines are kept better so"
        return f"moving {len(self._moved_units)} tasks saves {100 * saved:.2g} %"
