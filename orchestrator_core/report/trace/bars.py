"""What a trace shows: the tasks of a run, those of its plan, and what was sent for them."""

from __future__ import annotations

from collections import defaultdict

from orchestrator_core.execute.record import RunRecord, TaskRecord
from orchestrator_core.plan.schedule import Assignment
from orchestrator_core.report.gantt import short_kind
from orchestrator_core.report.trace.event import known, microseconds
from orchestrator_core.report.trace.workers import Bar


def actual_bars(run: RunRecord) -> list[Bar]:
    """What ran, each with its promise, and before it the fetching of its inputs."""
    promised = promises(run)
    turn: dict[str, int] = {}
    bars = []
    for record in sorted(run.tasks, key=lambda record: record.start):
        at = turn.get(record.task, 0)
        turn[record.task] = at + (record.status == "ok")
        planned = promised.get(record.task, [])
        bars.append(_task(record, planned[at] if at < len(planned) else None))
        if record.transfer_seconds > 0:
            bars.append(_fetch(record))
    return bars


def planned_bars(run: RunRecord) -> list[Bar]:
    """What was to run where, and what was to be sent."""
    if run.plan is None:
        return []
    kinds, stored = _kinds(run), run.stored
    bars = [
        Bar(a.worker, *_span(start, end), a.task, kinds[a.task], {}, a.task)
        for a in run.plan.schedule.assignments
        if a.task not in stored
        for start, end in a.segments or ((a.start, a.end),)
    ]
    for sent in run.plan.schedule.transfers:
        if sent.end > sent.start:
            args = known({"source": sent.source, "bytes": sent.nbytes})
            name = f"output of {sent.task}"
            where = (sent.destination, *_span(sent.start, sent.end))
            bars.append(Bar(*where, name, "transfer", args, sent.task, arriving=True))
    return bars


def promises(run: RunRecord) -> dict[str, list[Assignment]]:
    """The planned executions of each task, in the order of their starts."""
    found: dict[str, list[Assignment]] = {}
    if run.plan is not None:
        for planned in sorted(run.plan.schedule.assignments, key=lambda a: a.start):
            found.setdefault(planned.task, []).append(planned)
    return found


def _task(record: TaskRecord, planned: Assignment | None) -> Bar:
    args = known(
        {
            "kind": record.kind,
            "status": record.status,
            "attempt": record.attempt,
            "bytes": record.nbytes,
            "transfer_s": record.transfer_seconds,
            "memory_peak": record.memory_peak,
        }
    )
    if planned is not None:
        args |= {
            "planned_worker": planned.worker,
            "planned_start_s": planned.start,
            "planned_end_s": planned.end,
            "late_s": record.end - planned.end,
        }
    where = (record.worker, *_span(record.start, record.end))
    return Bar(*where, record.task, short_kind(record.kind), args, record.task)


def _fetch(record: TaskRecord) -> Bar:
    begin = record.start - record.transfer_seconds
    name = f"inputs of {record.task}"
    where = (record.worker, *_span(max(0.0, begin), record.start))
    return Bar(*where, name, "transfer", {}, record.task, arriving=True)


def _span(start: float, end: float) -> tuple[int, int]:
    return microseconds(start), microseconds(end)


def _kinds(run: RunRecord) -> defaultdict[str, str]:
    """The kind of each task as people say it; of one that the graph lacks, nothing."""
    graph = run.graph
    short = [short_kind(kind) for kind in graph.kinds]
    pairs = zip(graph.names, graph.kind_of.tolist(), strict=True)
    return defaultdict(str, {name: short[kind] for name, kind in pairs})
