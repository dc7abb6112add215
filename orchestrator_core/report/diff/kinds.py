"""Which kinds of tasks made the difference between two runs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from orchestrator_core.execute.record import RunRecord
from orchestrator_core.report.critical_path import critical_path
from orchestrator_core.report.gantt import Bars, threads_of

WAITING = ""
"""The kind that stands for time in which no task of the critical path ran."""


@dataclass(frozen=True, slots=True)
class KindChange:
    """One kind of task in two runs.

    Attributes:
        count_before, count_after: executions. work_before, work_after: seconds of all of them.
        path_before, path_after: seconds of it on the critical path. Over all kinds, and `WAITING`,
            the differences of these add up to the difference of the two runs.
        share: part of all that grew and shrank on the critical paths, 0 to 1.
    """

    kind: str
    count_before: int
    count_after: int
    work_before: float
    work_after: float
    path_before: float
    path_after: float
    share: float = 0.0

    @property
    def path_change(self) -> float:
        return self.path_after - self.path_before

    @property
    def mean_before(self) -> float | None:
        return self.work_before / self.count_before if self.count_before else None

    @property
    def mean_after(self) -> float | None:
        return self.work_after / self.count_after if self.count_after else None


def kinds_of(before: RunRecord, after: RunRecord) -> tuple[KindChange, ...]:
    """All kinds, those that changed the critical path most first."""
    (count_was, work_was), (count, work) = _work(before), _work(after)
    path_was, path = path_by_kind(before), path_by_kind(after)
    names = dict.fromkeys([*work_was, *work, *path_was, *path])
    total = sum(abs(path.get(k, 0.0) - path_was.get(k, 0.0)) for k in names)
    found = []
    for kind in names:
        numbers = (count_was, count, work_was, work, path_was, path)
        a, b, c, d, e, f = (table.get(kind, 0) for table in numbers)
        share = abs(f - e) / total if total > 0 else 0.0
        found.append(KindChange(kind, int(a), int(b), c, d, e, f, share))
    found.sort(key=lambda k: (-abs(k.path_change), -abs(k.work_after - k.work_before), k.kind))
    return tuple(found)


def path_by_kind(run: RunRecord) -> dict[str, float]:
    """Seconds of the critical path by kind of task; with `WAITING` they add up to the run's."""
    kinds = {record.task: record.kind for record in run.tasks}
    spent: dict[str, float] = defaultdict(float)
    now = 0.0
    for link in critical_path(Bars.of(run).actual, run.graph, threads_of(run)):
        running = min(link.bar.end - link.bar.start, link.bar.end - now)
        spent[kinds[link.bar.task]] += max(0.0, running)
        spent[WAITING] += link.bar.end - now - max(0.0, running)
        now = link.bar.end
    spent[WAITING] += run.seconds - now
    return dict(spent)


def _work(run: RunRecord) -> tuple[dict[str, int], dict[str, float]]:
    count: dict[str, int] = defaultdict(int)
    seconds: dict[str, float] = defaultdict(float)
    for record in run.tasks:
        count[record.kind] += 1
        seconds[record.kind] += record.seconds
    return count, seconds
