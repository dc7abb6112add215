"""Workers as processes of a trace: a thread for each lane of tasks, more for what arrives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator_core.report.lanes import Span, in_lanes
from orchestrator_core.report.trace.event import (
    Event,
    process_name,
    slice_of,
    thread_name,
)

INPUTS = 1000
"""Threads from this one on show what arrives."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A slice to be drawn on a worker.

    Attributes:
        start, end: microseconds from the start of the run.
        task: whose it is. arriving: does it show how inputs arrive, not the task itself?
    """

    worker: str
    start: int
    end: int
    name: str
    category: str
    args: Event
    task: str
    arriving: bool = False


@dataclass(slots=True)
class Drawn:
    """Titles, slices, and where each task was drawn: (process, thread, start, end) by name."""

    titles: list[Event] = field(default_factory=list)
    slices: list[Event] = field(default_factory=list)
    places: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)


def draw(bars: Sequence[Bar], processes: Mapping[str, tuple[int, str]], jitter: int) -> Drawn:
    """The bars on their workers.

    Args:
        processes: number and title by worker. jitter: microseconds by which times
            of tasks may be off, since several clocks measured them.
    """
    drawn = Drawn()
    rows: dict[tuple[str, bool], list[Span[Bar]]] = defaultdict(list)
    for bar in bars:
        rows[bar.worker, bar.arriving].append(Span(bar.start, bar.end, bar))
    for worker, (process, title) in processes.items():
        drawn.titles += process_name(process, title)
        for arriving in (False, True):
            _row(drawn, process, arriving, rows[worker, arriving], 0 if arriving else jitter)
    return drawn


def _row(
    drawn: Drawn, process: int, arriving: bool, spans: Sequence[Span[Bar]], jitter: int
) -> None:
    lanes = 0
    for lane, span in in_lanes(spans, jitter):
        bar, thread = span.thing, lane + (INPUTS if arriving else 1)
        start, end = int(span.start), int(span.end)
        event = slice_of((process, thread), bar.name, bar.category, (start, end), bar.args)
        drawn.slices.append(event)
        if not arriving:
            drawn.places[bar.task] = (process, thread, start, end)
        lanes = max(lanes, lane + 1)
    for lane in range(lanes):
        name = f"inputs {lane + 1}" if arriving else f"thread {lane + 1}"
        drawn.titles += thread_name(process, lane + (INPUTS if arriving else 1), name)
