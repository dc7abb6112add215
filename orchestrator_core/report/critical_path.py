"""The chain of tasks that made a run as long as it was."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from types import MappingProxyType

from orchestrator_core.graph.task_graph import TaskGraph

CLOCK_JITTER = 0.02
"""Seconds by which the ends of actual bars may be off: workers' clocks are told by heartbeats."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A task on a worker from `start` to `end`, in seconds; planned or actual.

    Attributes:
        threads: that it occupies. segments: its pieces, where it is paused; else empty.
    """

    task: str
    worker: str
    start: float
    end: float
    threads: int = 1
    segments: tuple[tuple[float, float], ...] = ()

    @property
    def pieces(self) -> list[Bar]:
        """Without the pauses."""
        return [replace(self, start=a, end=b, segments=()) for a, b in self.segments] or [self]

    @property
    def work(self) -> float:
        """Seconds of threads."""
        return self.threads * sum(piece.end - piece.start for piece in self.pieces)


Threads = Mapping[str, int]
"""Of workers, by name; of one that is not in it, one."""

UNKNOWN: Threads = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Link:
    """A task of the chain, and why it did not start sooner.

    Attributes:
        waited_for: ``start`` if nothing that is known held it up, or the task whose end it waited
            for; itself, where its attempt or instance before had its place.
        because: ``input`` (it needed that task's output), ``worker`` (that task had its place).
        idle: seconds between that task's end and this task's start.
    """

    bar: Bar
    waited_for: str
    because: str
    idle: float


def critical_path(bars: list[Bar], graph: TaskGraph, threads: Threads = UNKNOWN) -> list[Link]:
    """The chain that ends last, first task first; each waits for the one before it.

    Walks back from the last end. Of all that could have held a task up (its producers, and what
    ran before it on its worker, where that had no thread to spare), the one that ended last did.
    """
    if not bars:
        return []
    by_task, on_worker = _by_task(bars), _by_worker(bars, threads)
    chain: list[Link] = []
    here: Bar | None = max(bars, key=_order)
    seen: set[Bar] = set()  # where clocks are wrong, bars may wait for each other
    while here is not None and here not in seen:
        seen.add(here)
        cause, because = _cause(here, by_task, on_worker, graph)
        idle = here.start - (cause.end if cause else 0.0)
        chain.append(Link(here, cause.task if cause else "start", because, max(0.0, idle)))
        here = cause
    return chain[::-1]


def cause_of(
    bar: Bar, bars: list[Bar], graph: TaskGraph, threads: Threads = UNKNOWN
) -> tuple[Bar | None, str]:
    """What one of the bars waited for, as `critical_path` sees it, and why (`Link.because`)."""
    return _cause(bar, _by_task(bars), _by_worker(bars, threads), graph)


class _Worker:
    """The bars of a worker by their ends, and how many of its threads they had when."""

    def __init__(self, bars: list[Bar], threads: int) -> None:
        self.ordered = sorted(bars, key=_order)
        self._threads = threads
        by_start = sorted(bars, key=lambda bar: bar.start)
        self._starts = [bar.start for bar in by_start]
        self._begun = [0, *accumulate(bar.threads for bar in by_start)]
        self._ended = [0, *accumulate(bar.threads for bar in self.ordered)]

    def had_room(self, bar: Bar, moment: float) -> bool:
        """Were threads free for the bar just before that moment? Not in a gap between two bars."""
        if bar.threads >= self._threads:
            return False
        begun = self._begun[bisect_left(self._starts, moment)]
        since = moment - 2 * CLOCK_JITTER
        ended = self._ended[bisect_right(self.ordered, since, key=lambda other: other.end)]
        return begun - ended + bar.threads <= self._threads


def _by_task(bars: list[Bar]) -> dict[str, Bar]:
    return {bar.task: bar for bar in bars}


def _by_worker(bars: list[Bar], threads: Threads) -> dict[str, _Worker]:
    on_worker: dict[str, list[Bar]] = defaultdict(list)
    for bar in bars:
        on_worker[bar.worker].append(bar)
    return {name: _Worker(of_one, threads.get(name, 1)) for name, of_one in on_worker.items()}


def _cause(
    bar: Bar, by_task: dict[str, Bar], on_worker: dict[str, _Worker], graph: TaskGraph
) -> tuple[Bar | None, str]:
    tolerance = min(CLOCK_JITTER, 0.5 * (bar.end - bar.start))
    place = graph.index.get(bar.task)
    producers = [] if place is None else [graph.names[i] for i in graph.predecessors(place)]
    inputs = [by_task[name] for name in producers if name in by_task]
    latest_input = max(inputs, key=lambda other: other.end, default=None)
    worker = on_worker[bar.worker]
    before = _last_before(worker.ordered, bar, tolerance)
    # What it needs beside threads, the other may have had.
    needy = place is not None and bool(graph.demand(int(graph.mode_ptr[place])).resources)
    is_itself = before is not None and before.task == bar.task
    if before and not (needy or is_itself) and worker.had_room(bar, before.end):
        before = None
    if latest_input and (before is None or latest_input.end >= before.end - tolerance):
        return latest_input, "input"
    return before, "worker" if before else "start"


def _last_before(ordered: list[Bar], bar: Bar, tolerance: float) -> Bar | None:
    """The last bar of the worker that ended when `bar` started; be it the same task's."""
    ended = bisect_right(ordered, bar.start + tolerance, key=lambda other: other.end)
    # A bar of no length ended when it started, as others may have: the order decides.
    earlier = bisect_left(ordered, _order(bar), key=_order)
    before = min(ended, earlier)
    return ordered[before - 1] if before > 0 else None


def _order(bar: Bar) -> tuple[float, str]:
    return bar.end, bar.task
