"""Resized: what the rest of a run takes if its cluster grows or shrinks; estimates, no plans.

Each question is a repair of the schedule, a few ms for 2000 tasks on 8 workers. A worker that
goes is retired, not killed: what it holds moves to others first, what runs there starts again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.scaling.grown import grown
from orchestrator_core.graph.finer_kind import plain_kind
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.expand import Problem, expand, frozen
from orchestrator_core.plan.engine.ranks import downward_rank
from orchestrator_core.plan.repair import Event, Finished, Held, WorkerLost, replan
from orchestrator_core.plan.schedule import Schedule


class Resized:
    """One run at one moment, and its makespan on other clusters; w workers, n single tasks.

    Attributes:
        makespan: seconds from the start of the run to its last end, on the workers that are there.
        workers: (w,) positions of these workers in the instance's cluster.
        left: how many single tasks have not ended.
    """

    def __init__(
        self,
        instance: Instance,
        schedule: Schedule,
        now: float = 0.0,
        events: Iterable[Event] = (),
        lost: Collection[str] = (),
    ) -> None:
        """`schedule` as planned, and what has happened until `now`, as for a repair; workers that
        are `lost` are there no more.

        Raises:
            InvalidInput: for a schedule of another instance, or if all workers are lost.
        """
        names = instance.cluster.names
        events = tuple(events)
        lost = {*lost, *(event.name for event in events if isinstance(event, WorkerLost))}
        self.instance, self.now = instance, now
        self.workers = tuple(b for b, name in enumerate(names) if name not in lost)
        told = tuple(event for event in events if not isinstance(event, WorkerLost))
        self._events = (*told, *(WorkerLost(name) for name in names if name in lost))
        self._schedule, blocked = _repaired(instance, schedule, now, self._events)
        self.makespan, self._blocked = self._schedule.makespan, set(blocked)
        self._problem: Problem = expand(instance)
        self._first = np.cumsum(instance.graph.count) - instance.graph.count
        self._unit = self._first[self._schedule.task] + self._schedule.instance
        self.left = self._problem.n_tasks - int(np.count_nonzero(self._ended))

    # --- questions ---------------------------------------------------------------------------

    def more(self, kind: str, number: int = 1) -> float:
        """The makespan with that many more workers like the first one of that kind.

        Never more than without them, since nobody has to use them.

        Raises:
            InvalidInput: if no worker of that kind is there.
        """
        if self.makespan <= self.bound:
            return self.makespan
        larger = grown(self.instance, self._like(kind), number)
        return min(self.makespan, self._changed(larger, ())[0])

    def fewer(self, names: Iterable[str]) -> float:
        """The makespan once these workers have retired; infinite if some task could not run.

        Never less than with them. The seconds in which what they hold moves elsewhere count whole.
        """
        index = self.instance.cluster.index
        going = sorted(index[name] for name in names)
        stay = [b for b in self.workers if b not in going]
        if not stay:
            return np.inf
        moved = self._held_by_none_of(stay, going)
        events = [*(WorkerLost(self.instance.cluster.names[b]) for b in going)]
        after, blocked = self._changed(self.instance, (*events, *self._held(moved, stay)))
        if set(blocked) - self._blocked:
            return np.inf
        return max(self.makespan, after + self._moving(moved, stay))

    @cached_property
    def bound(self) -> float:
        """No number of workers of the known kinds makes the run end before this."""
        p, schedule = self._problem, self._schedule
        begun = schedule.start < self.now
        release = np.maximum(p.release, self.now)
        release[self._unit[begun]] = schedule.end[begun]
        seconds = self.instance.best_seconds[p.task]
        seconds[self._unit[begun]] = 0.0
        seconds[self._ended] = 0.0
        start = downward_rank(p._replace(release=frozen(release)), seconds, 0.0, 0.0)
        return float((start + seconds).max(initial=0.0)) * (1.0 + 1e-9)

    @cached_property
    def held(self) -> Floats:
        """(w of the instance,) bytes that each worker has made and that somebody needs."""
        made = np.flatnonzero(self._needed)
        nbytes = self._problem.output_bytes[made]
        total = np.bincount(self._home[made], nbytes, len(self.instance.cluster))
        return np.asarray(total, dtype=np.float64)

    @cached_property
    def planned_seconds(self) -> Floats:
        """(w of the instance,) seconds of work that each worker has before it."""
        schedule = self._schedule
        rest = schedule.end - np.maximum(schedule.start, self.now)
        total = np.bincount(schedule.worker, np.maximum(rest, 0.0), len(self.instance.cluster))
        return np.asarray(total, dtype=np.float64)

    # --- inside ------------------------------------------------------------------------------

    def _changed(
        self, instance: Instance, events: Sequence[Event]
    ) -> tuple[float, Collection[str]]:
        """(makespan, tasks that can run nowhere)"""
        happened = (*self._events, *events)
        schedule, blocked = _repaired(instance, self._schedule, self.now, happened)
        return schedule.makespan, blocked

    def _like(self, kind: str) -> int:
        members = self.instance.cluster.workers
        alike = [b for b in self.workers if plain_kind(members[b].kind) == plain_kind(kind)]
        if alike:
            return min(alike, key=lambda b: members[b].kind != kind)
        raise InvalidInput(f"there is no worker of kind {kind!r} to be like")

    @cached_property
    def _ended(self) -> NDArray[np.bool_]:
        """(n,) is there an output, or was there one?"""
        schedule = self._schedule
        ended = np.zeros(self._problem.n_tasks, dtype=np.bool_)
        ended[self._unit[(schedule.start < self.now) & (schedule.end <= self.now)]] = True
        for event in self._events:
            if isinstance(event, Finished):
                ended[self._first[self.instance.graph.index[event.task]] + event.instance] = True
        return ended

    @cached_property
    def _needed(self) -> NDArray[np.bool_]:
        """(n,) outputs that are there, and that a task waits for or nobody but the user does."""
        p = self._problem
        consumers = np.diff(p.out_ptr)
        needed = consumers == 0
        needed[np.repeat(np.arange(p.n_tasks), consumers)[~self._ended[p.out_task]]] = True
        return np.asarray(needed & self._ended)

    @cached_property
    def _home(self) -> Ints:
        """(n,) where each task ran or is to run."""
        home = np.zeros(self._problem.n_tasks, dtype=np.int64)
        home[self._unit] = self._schedule.worker
        return home

    def _held_by_none_of(self, stay: Sequence[int], going: Sequence[int]) -> Ints:
        """Single tasks whose outputs only the workers that go have."""
        schedule, n = self._schedule, self._problem.n_tasks
        there = (schedule.transfer_end <= self.now) & np.isin(schedule.transfer_destination, stay)
        copied = np.zeros(n, dtype=np.bool_)
        copied[self._first[schedule.transfer_task[there]] + schedule.transfer_instance[there]] = (
            True
        )
        return np.flatnonzero(self._needed & ~copied & np.isin(self._home, going))

    def _held(self, units: Ints, stay: Sequence[int]) -> list[Held]:
        """The outputs handed out to those who stay, in turn."""
        p, names = self._problem, self.instance.cluster.names
        return [
            Held(
                task=self.instance.graph.names[p.task[unit]],
                worker=names[stay[i % len(stay)]],
                since=self.now,
                instance=int(p.instance[unit]),
            )
            for i, unit in enumerate(units.tolist())
        ]

    def _moving(self, units: Ints, stay: Sequence[int]) -> float:
        """Seconds until all these outputs are elsewhere; each worker sends one after the other."""
        p = self._problem
        each = p.per_byte[:, stay].mean(axis=1) + p.encode[:, stay].mean(axis=1)
        home = self._home[units]
        seconds = np.bincount(home, p.output_bytes[units] * each[home], len(each))
        return float(seconds.max(initial=0.0))


def _repaired(
    instance: Instance, schedule: Schedule, now: float, events: Sequence[Event]
) -> tuple[Schedule, Collection[str]]:
    """The repaired schedule, and the tasks that can run nowhere.

    Repaired twice: a repair moves no more than it has to for most of the gain, and what is asked
    here is what could be gained.
    """
    first = replan(instance, schedule, now, events)
    kept = _with_past(first.schedule, schedule, now)
    again = replan(instance, kept, now, events)
    if again.makespan < first.makespan:
        return _with_past(again.schedule, kept, now), again.blocked
    return kept, first.blocked


def _with_past(schedule: Schedule, before: Schedule, now: float) -> Schedule:
    """The schedule with all transfers that had begun `before`, also those that came to nothing:
    without them the next repair would not believe that tasks on lost workers ever had their inputs.
    """
    tasks = {name: i for i, name in enumerate(schedule.task_names)}
    workers = {name: i for i, name in enumerate(schedule.worker_names)}
    task = np.array([tasks[name] for name in before.task_names], dtype=np.int64)
    worker = np.array([workers[name] for name in before.worker_names], dtype=np.int64)
    past, rest = before.transfer_start < now, schedule.transfer_start >= now
    columns = {
        name: np.concatenate([getattr(before, name)[past], getattr(schedule, name)[rest]])
        for name in Schedule.__slots__
        if name.startswith("transfer_")
    }
    begun = int(np.count_nonzero(past))
    for name, place in (("task", task), ("source", worker), ("destination", worker)):
        column = columns[f"transfer_{name}"]
        column[:begun] = place[column[:begun]]
    rows = ("task", "instance", "worker", "mode", "start", "end")
    columns |= {name: getattr(schedule, name) for name in rows}
    return Schedule.from_columns(
        schedule.task_names, schedule.worker_names, segments=schedule.segments, **columns
    )
