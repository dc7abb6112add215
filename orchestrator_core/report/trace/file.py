"""The whole trace of a run: its workers, those of its plan, arrows, counters; and its file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

from orchestrator_core.execute.record import RunRecord
from orchestrator_core.report.critical_path import CLOCK_JITTER
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
    names = list(dict.fromkeys([*run.cluster.names, *(bar.worker for bar in actual)]))
    hoped = {bar.worker for bar in planned}
    order = [name for name in names if name in hoped]
    order += sorted(hoped.difference(order))
    second = COUNTERS + 1 + len(names)
    ran = draw(actual, _processes(run, names, COUNTERS + 1, ""), microseconds(CLOCK_JITTER))
    promised = draw(planned, _processes(run, order, second, "plan: "), 0)
    titles = [*process_name(COUNTERS, "tasks at a time"), *ran.titles, *promised.titles]
    events = [*ran.slices, *promised.slices, *_arrows(run, ran)]
    events += [*_running("running", actual), *_running("planned", planned)]
    events.sort(key=itemgetter("ts", "pid", "tid"))
    return {"otherData": _about(run), "displayTimeUnit": "ms", "traceEvents": [*titles, *events]}


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


def _processes(
    run: RunRecord, names: Sequence[str], first: int, prefix: str
) -> dict[str, tuple[int, str]]:
    """(number, title) of each worker's process, from `first` on."""
    kinds = {worker.name: worker.kind for worker in run.cluster.workers}
    found = {}
    for number, name in enumerate(names, start=first):
        kind = kinds.get(name, "")
        title = f"{name} ({kind})" if kind and kind != name else name
        found[name] = (number, f"{prefix}{title}")
    return found


def _arrows(run: RunRecord, ran: Drawn) -> list[Event]:
    """From producers on other workers to what really waited for them."""
    places = enumerate(_waited(run, ran), start=1)
    return [event for number, place in places for event in flow(number, *place)]


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
            changes[bar.start] = changes.get(bar.start, 0) + 1
            changes[bar.end] = changes.get(bar.end, 0) - 1
    events, running = [], 0
    for moment in sorted(changes):
        running += changes[moment]
        events.append(counter(COUNTERS, name, moment, running))
    return events
