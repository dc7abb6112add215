"""The answer to "what changed?" between two runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from orchestrator_core.execute.record import RunRecord, TaskRecord
from orchestrator_core.report.diff.kinds import KindChange, kinds_of
from orchestrator_core.report.diff.side import Names, Side, tasks_of, workers_of


@dataclass(frozen=True, slots=True)
class TaskChange:
    """A task that ran in both, by its last execution; seconds are its durations."""

    task: str
    kind: str
    worker_before: str
    worker_after: str
    worker_kind_before: str
    worker_kind_after: str
    seconds_before: float
    seconds_after: float

    @property
    def moved(self) -> bool:
        return self.worker_before != self.worker_after

    @property
    def change(self) -> float:
        return self.seconds_after - self.seconds_before


@dataclass(frozen=True, slots=True)
class Diff:
    """Two runs beside each other.

    Attributes:
        same_graph, same_cluster: by their signatures, which know no names.
        kinds: those that changed the critical path most first.
        changes: the tasks that both ran, those whose duration changed most first.
        routes: (kind of worker before, after, tasks) of those that moved, the most first.
    """

    before: Side
    after: Side
    same_graph: bool
    same_cluster: bool
    tasks: Names
    workers: Names
    kinds: tuple[KindChange, ...]
    changes: tuple[TaskChange, ...]
    routes: tuple[tuple[str, str, int], ...]

    @property
    def seconds(self) -> float:
        """By how much the second took longer."""
        return self.after.seconds - self.before.seconds

    @property
    def ratio(self) -> float | None:
        """The second over the first; None if the first took no time."""
        return self.after.seconds / self.before.seconds if self.before.seconds > 0 else None

    @property
    def same_flow(self) -> bool:
        return self.before.flow == self.after.flow

    @property
    def moved(self) -> int:
        """Tasks that ran on another worker."""
        return sum(change.moved for change in self.changes)


def diff(before: RunRecord, after: RunRecord) -> Diff:
    """What changed from `before` to `after`."""
    changes = _changes(before, after)
    routes = Counter((c.worker_kind_before, c.worker_kind_after) for c in changes if c.moved)
    return Diff(
        before=Side.of(before),
        after=Side.of(after),
        same_graph=before.graph_signature == after.graph_signature,
        same_cluster=before.cluster_signature == after.cluster_signature,
        tasks=tasks_of(before, after),
        workers=workers_of(before, after),
        kinds=kinds_of(before, after),
        changes=changes,
        routes=tuple(
            (*route, count)
            for route, count in sorted(routes.items(), key=lambda item: (-item[1], item[0]))
        ),
    )


def _changes(before: RunRecord, after: RunRecord) -> tuple[TaskChange, ...]:
    was, now = _last(before), _last(after)
    changes = [_change(was[task], now[task]) for task in now if task in was]
    changes.sort(key=lambda change: (-abs(change.change), change.task))
    return tuple(changes)


def _last(run: RunRecord) -> dict[str, TaskRecord]:
    """The last execution of each task."""
    return {record.task: record for record in sorted(run.tasks, key=lambda record: record.end)}


def _change(was: TaskRecord, now: TaskRecord) -> TaskChange:
    return TaskChange(
        task=now.task,
        kind=now.kind,
        worker_before=was.worker,
        worker_after=now.worker,
        worker_kind_before=was.worker_kind,
        worker_kind_after=now.worker_kind,
        seconds_before=was.seconds,
        seconds_after=now.seconds,
    )
