"""Withholding: tasks that add to what is held are admitted no sooner than their output is needed.

A worker begins whatever is ready, and what needs no inputs is ready at once: so its outputs lie
about long before they are consumed. Where that worker has nothing better to do, waiting costs
nothing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.simulate.inversions import ready_at
from orchestrator_core.execute.simulate.made import made_bytes
from orchestrator_core.execute.simulate.outcome import Outcome
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.execute.simulate.slack import lines_of

LEAST_PATIENCE = 2.0
"""Seconds for which a task is held at least; beyond, twice as long as the wait that was planned."""


def just_in_time(rehearsal: Rehearsal, loop: Outcome, margin: float) -> dict[str, Hold]:
    """Holds, by task name, of the tasks that could begin later without a later end of the run.

    Each waits for the last task of a consumer's worker that ended before it had to begin, so that
    who produces follows the pace of who consumes.

    Args:
        rehearsal: of a plan for tasks of count 1. loop: as it ran.
        margin: seconds that a task begins before it must, beside half of its own duration.
    """
    return _holds(rehearsal, loop, _clocks(rehearsal, loop, margin))


def growth(rehearsal: Rehearsal) -> list[float]:
    """(u,) bytes that are held more after each unit than before it, in the planned order."""
    units = rehearsal.units
    size: list[float] = made_bytes(rehearsal.instance).tolist()
    last = [max(users, key=rehearsal.priority.__getitem__, default=-1) for users in units.consumers]
    return [
        size[units.task[unit]]
        - sum(size[units.task[made]] for made in units.inputs[unit] if last[made] == unit)
        for unit in range(len(units))
    ]


def _clocks(rehearsal: Rehearsal, loop: Outcome, margin: float) -> Iterator[tuple[int, int]]:
    """(unit, what it waits for), for the units that would be held for longer than `margin`."""
    grows = growth(rehearsal)
    latest = latest_starts(loop, grows)
    lines = [sorted(line, key=loop.end.__getitem__) for line in lines_of(loop)]
    ends = [[loop.end[unit] for unit in line] for line in lines]
    for unit, consumers in enumerate(loop.units.consumers):
        if grows[unit] > 0 and consumers:
            worker = loop.worker[min(consumers, key=loop.start.__getitem__)]
            before = margin + (loop.end[unit] - loop.start[unit]) / 2
            place = bisect_right(ends[worker], latest[unit] - before) - 1
            if place >= 0 and ends[worker][place] > loop.start[unit] + margin:
                yield unit, lines[worker][place]


def latest_starts(loop: Outcome, grows: list[float]) -> list[float]:
    """(u,) seconds: when each unit that grows could begin at last if all others begin as they did.

    The order on each worker is kept, and so are places and transfers.
    """
    latest = list(loop.start)
    for line in lines_of(loop):
        starts = [loop.start[unit] for unit in line]
        for unit in reversed(line):
            if grows[unit] > 0:
                after = bisect_left(starts, loop.end[unit])
                ends = [latest[line[after]]] if after < len(line) else [loop.makespan]
                ends += [loop.start[c] - _way(loop, unit, c) for c in loop.units.consumers[unit]]
                length = loop.end[unit] - loop.start[unit]
                latest[unit] = max(loop.start[unit], min(ends) - length)
    return latest


def _way(loop: Outcome, unit: int, consumer: int) -> float:
    """Seconds that the unit's output took to its consumer's worker."""
    start, _, arrival = loop.transfers.get((unit, loop.worker[consumer]), (0.0, 0.0, 0.0))
    return arrival - start


def _holds(
    rehearsal: Rehearsal, loop: Outcome, pairs: Iterator[tuple[int, int]]
) -> dict[str, Hold]:
    names, task = rehearsal.instance.graph.names, rehearsal.units.task
    return {
        names[task[unit]]: Hold(
            done=frozenset([names[task[gate]]]),
            patience=max(LEAST_PATIENCE, 2 * (loop.end[gate] - ready_at(loop, unit))),
        )
        for unit, gate in pairs
    }
