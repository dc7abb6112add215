"""The times of a schedule anew, in seconds: everything as early as its order allows.

CP-SAT hands over a rough schedule whose placement and order count, not its times. Here the start of
each piece and of each encoding is a variable in seconds, and whatever followed another on the same
worker in the rough schedule follows it again: running, encoding, and, where memory is limited,
holding. What then overlaps overlapped before, and intervals that overlap in pairs have a moment in
common, at which they fitted. The earliest times are the longest paths over these differences.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.cpsat.events import Events, Span
from orchestrator_core.plan.schedule import Schedule


def left_shift(instance: Instance, rough: Schedule, late: float = 0.0) -> Schedule | None:
    """The earliest schedule with this placement and order, or None if seconds cannot keep it.

    Args:
        rough: holds each unit once, with a segment for each piece of a task that has checkpoints,
            and each transfer that is needed; its times may be off, also within a row.
        late: seconds by which something may be held too late in the rough schedule.
    """
    events = Events(instance, rough)
    after = [*events.pieces_in_order(), *events.inputs_before_consumers()]
    slack = 1e-9 * rough.makespan
    for (_, what), spans in _by_worker(instance, events).items():
        if what == "memory":
            after += _kept_order(spans, slack + late, alone=False)
        else:
            after += _kept_order(spans, slack, alone=True)
    times = _earliest(events.least, events.guess, after)
    return None if times is None else events.schedule(times)


Difference = tuple[int, int, float]
"""The second variable is at least the first plus so many seconds."""


def _by_worker(instance: Instance, events: Events) -> dict[tuple[int, str], list[Span]]:
    """Groups of spans that keep their order among themselves."""
    groups: dict[tuple[int, str], list[Span]] = defaultdict(list)
    for span in events.running():
        groups[span.worker, "threads"].append(span)
    limited = [w for w, one in enumerate(instance.cluster.workers) if np.isfinite(one.memory)]
    if limited:
        for span in events.held():
            groups[span.worker, "memory"].append(span)
        for worker in limited:
            groups[worker, "memory"] += groups[worker, "threads"]
    return groups


def _kept_order(spans: list[Span], slack: float, alone: bool) -> Iterator[Difference]:
    """What ended before another began ends before it again.

    That is said of neighbours only: what began after a third one had ended, which itself followed,
    follows by way of it, since nothing ends before it begins. Said of all pairs, thousands of tasks
    on one worker would make millions of differences.

    Args:
        alone: what has no length in the rough schedule, though it has one in seconds, follows all
            that began before it, since nobody knows what it fits beside.
    """
    order = sorted(((span.first, span.last, span) for span in spans), key=lambda each: each[:2])
    for i, (_, last, one) in enumerate(order):
        until = math.inf
        for first, end, other in islice(order, i + 1, None):
            if until <= first + slack:
                break
            if last <= first + slack or (alone and end <= first):
                yield from _follow(one, other)
                until = min(until, end)


def _follow(one: Span, other: Span) -> Iterator[Difference]:
    """All ends of the one come before all beginnings of the other."""
    for a in one.end:
        for b in other.begin:
            if a.variable != b.variable:
                yield a.variable, b.variable, a.after - b.after


def _earliest(
    least: list[float], guess: list[float], after: list[Difference]
) -> list[float] | None:
    """Longest paths: passes over the differences, in the rough order, until nothing moves."""
    times = list(least)
    order = sorted(set(after), key=lambda d: (guess[d[0]], guess[d[1]]))
    for _ in range(len(times) + 2):
        moved = False
        for a, b, seconds in order:
            if times[b] < times[a] + seconds:
                times[b] = times[a] + seconds
                moved = True
        if not moved:
            return times
    return None
