"""The whole trace of a run: its workers, those of its plan, arrows, counters; and its file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from orchestrator_core.execute.record import RunRecord
from orchestrator_core.report.trace.bars import actual_bars, planned_bars
from orchestrator_core.report.trace.event import (
    Event,
    counter,
    flow,
    microseconds,
    process_name,
)
from orchestrator_core.report.trace.workers import Bar, Drawn, draw

FORMAT = "orchestrator.trace/1"

COUNTERS = 1
"""The process of the counters; those of workers follow, then those of the plan."""


def trace_of(run: RunRecord) -> Event:
    """The trace: strict JSON, its events sorted by time, titles first.

    Each worker is a process with a thread for each task that it ran beside others, and threads for
    inputs that arrive; the plan's workers follow as processes of their own.
    """
    actual, planned = actual_bars(run), planned_bars(run)
    first = COUNTERS + 1
    names = list(dict.fromkeys([*run.cluster.names, *(bar.worker for bar in actual)]))
    kinds = {worker.name: worker.kind for worker in run.cluster.workers}
    ran = draw(
        actual, {name: (first + i, _title(name, kinds)) for i, name in enumerate(names)}, True
    )
    second = first + len(names)
    hoped = list(dict.fromkeys(bar.worker for bar in planned))
    order = [name for name in names if name in set(hoped)]
    order += [name for name in hoped if name not in set(order)]
    promised = draw(
        planned,
        {name: (second + i, f"plan: {_title(name, kinds)}") for i, name in enumerate(order)},
        False,
    )
    events = [*ran.events, *promised.events, *_arrows(run, ran, promised)]
    events += [*process_name(COUNTERS, "tasks at a time"), *_running("running", actual)]
    events += _running("planned", planned)
    events.sort(key=_order)
    return {"otherData": _about(run), "displayTimeUnit": "ms", "traceEvents": events}


def write_trace(run: RunRecord, path: str | Path) -> Path:
    """Write the trace of `run` to `path`; returns it, absolute."""
    target = Path(path).resolve()
    text = json.dumps(trace_of(run), separators=(",", ":"), allow_nan=False)
    target.write_text(text, encoding="ascii")
    return target


def _about(run: RunRecord) -> Event:
    return {
        "format": FORMAT,
        "run_id": run.run_id,
        "flow": run.flow,
        "mode": run.mode,
        "status": run.status,
        "started_at": run.started_at,
        "seconds": run.seconds,
    }


def _title(worker: str, kinds: dict[str, str]) -> str:
    kind = kinds.get(worker, "")
    return f"{worker} ({kind})" if kind and kind != worker else worker


def _arrows(run: RunRecord, ran: Drawn, promised: Drawn) -> list[Event]:
    """From producers on other workers: to what really waited, and to what was to arrive."""
    events: list[Event] = []
    for place in _waited(run, ran):
        events += flow(len(events) // 2 + 1, *place)
    for (task, _), (process, thread, start, _) in promised.arrivals.items():
        if task in promised.places:
            source = _end_of(promised.places[task])
            events += flow(len(events) // 2 + 1, source, (process, thread, start))
    return events


def _waited(run: RunRecord, ran: Drawn) -> list[tuple[tuple[int, int, int], tuple[int, int, int]]]:
    """Of each task that fetched inputs: from the last of its producers elsewhere to its start."""
    graph, arrows = run.graph, []
    for record in run.tasks:
        if record.transfer_seconds <= 0 or record.task not in graph.index:
            continue
        here = ran.places[record.task]
        inputs = [graph.names[i] for i in graph.predecessors(graph.index[record.task])]
        away = [ran.places[n] for n in inputs if n in ran.places and ran.places[n][0] != here[0]]
        if away:
            latest = max(away, key=lambda place: place[3])
            arrows.append((_end_of(latest), here[:3]))
    return arrows


def _end_of(place: tuple[int, int, int, int]) -> tuple[int, int, int]:
    """The last moment that is inside the slice."""
    process, thread, start, end = place
    return process, thread, max(start, end - 1)


def _running(name: str, bars: Sequence[Bar]) -> list[Event]:
    """How many tasks run, told at each change."""
    changes: dict[int, int] = {}
    for bar in bars:
        if not bar.arriving:
            for moment, step in ((bar.start, 1), (bar.end, -1)):
                changes[microseconds(moment)] = changes.get(microseconds(moment), 0) + step
    events, running = [], 0
    for moment in sorted(changes):
        running += changes[moment]
        events.append(counter(COUNTERS, name, moment, running))
    return events


def _order(event: Event) -> tuple[bool, int, int, int, int, str]:
    """Titles, then by time; of slices that begin together the longer first."""
    is_title = event["ph"] == "M"
    return (
        not is_title,
        event["ts"],
        event["pid"],
        event["tid"],
        -event.get("dur", 0),
        event["ph"],
    )
