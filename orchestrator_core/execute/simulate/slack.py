"""Slack: how much later a unit could have begun in a simulated run without a later end."""

from __future__ import annotations

from bisect import bisect_left

from orchestrator_core.execute.simulate.outcome import Outcome


def slacks(loop: Outcome) -> list[float]:
    """(u,) seconds; the order on each worker is kept, and so are places and transfers.

    On a worker with several threads a unit is taken to wait for all that ended before it began, so
    a slack may be underestimated there.
    """
    following = _following(loop)
    latest = [loop.makespan] * len(loop.units)
    for unit in reversed(in_order_of_start(loop)):
        end = latest[unit]
        if following[unit] >= 0:
            end = min(end, latest[following[unit]])
        for consumer in loop.units.consumers[unit]:
            end = min(end, latest[consumer] - _way(loop, unit, loop.worker[consumer]))
        latest[unit] = end - (loop.end[unit] - loop.start[unit])
    return [late - start for late, start in zip(latest, loop.start, strict=True)]


def in_order_of_start(loop: Outcome) -> list[int]:
    """The units as they began; producers first among those that began at the same moment."""
    return sorted(loop.units.order, key=loop.start.__getitem__)


def lines_of(loop: Outcome) -> list[list[int]]:
    """(w,) the units of each worker as they began."""
    lines: list[list[int]] = [[] for _ in range(len(loop.instance.cluster))]
    for unit in in_order_of_start(loop):
        lines[loop.worker[unit]].append(unit)
    return lines


def _way(loop: Outcome, unit: int, worker: int) -> float:
    """Seconds that the unit's output took to the worker."""
    start, _, arrival = loop.transfers.get((unit, worker), (0.0, 0.0, 0.0))
    return arrival - start


def _following(loop: Outcome) -> list[int]:
    """(u,) the first unit that began on the same worker after the end of each; -1 if none did."""
    following = [-1] * len(loop.units)
    for line in lines_of(loop):
        starts = [loop.start[unit] for unit in line]
        for place, unit in enumerate(line):
            after = bisect_left(starts, loop.end[unit], place + 1)
            following[unit] = line[after] if after < len(line) else -1
    return following
