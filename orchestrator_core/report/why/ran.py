"""How a task of a run really went."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.execute.record import RunRecord
from orchestrator_core.report.critical_path import cause_of, critical_path
from orchestrator_core.report.gantt import Bars, threads_of


@dataclass(frozen=True, slots=True)
class Ran:
    """The last execution of a task; times in seconds from the start of the run.

    Attributes:
        waited_for: the task whose end it waited for, perhaps itself (an earlier attempt or
            instance); empty if nothing that is known held it up.
        because: ``input`` (it needed its output), ``worker`` (it had its place) or ``start``.
        idle: seconds between that end and this start.
        fetching: seconds that its worker fetched its inputs before it started.
        critical: is it in the chain of tasks that made the run as long as it was?
        seconds: that the run took.
        overhead: seconds of it around its own code, or None if nobody measured.
    """

    worker: str
    kind: str
    start: float
    end: float
    attempt: int
    status: str
    waited_for: str
    because: str
    idle: float
    fetching: float
    critical: bool
    seconds: float
    overhead: float | None = None


def ran_of(run: RunRecord, task: str) -> Ran | None:
    """How it went; None if it did not run."""
    records = [record for record in run.tasks if record.task == task]
    if not records:
        return None
    last = max(records, key=lambda record: record.end)
    bars = Bars.of(run).actual
    chain = critical_path(bars, run.graph, threads_of(run))
    bar = next(b for b in bars if (b.task, b.start, b.end) == (task, last.start, last.end))
    cause, because = cause_of(bar, bars, run.graph, threads_of(run))
    return Ran(
        worker=last.worker,
        kind=last.worker_kind,
        start=last.start,
        end=last.end,
        attempt=last.attempt,
        status=last.status,
        waited_for="" if cause is None else cause.task,
        because=because,
        idle=max(0.0, last.start - (0.0 if cause is None else cause.end)),
        fetching=last.transfer_seconds,
        critical=any(link.bar == bar for link in chain),
        seconds=run.seconds,
        overhead=last.overhead_seconds,
    )
