"""Inversions: units that began before others which were planned earlier and so had to wait."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator_core.execute.simulate.outcome import Outcome
from orchestrator_core.execute.simulate.slack import lines_of, slacks


@dataclass(frozen=True, slots=True)
class Inversion:
    """One unit overtook another on their worker.

    Attributes:
        early: the unit that overtook; late: the one that was planned before it.
        wait: seconds from the moment at which `early` was ready to that at which `late` could have
            begun: so long it must be held.
        idle: seconds of these in which its worker would have nothing else to run.
        cost: seconds by which the run may end sooner if it is held.
        fetches: does `late` fetch inputs after it was sent, so that being sent is not enough?
    """

    early: int
    late: int
    wait: float
    idle: float
    cost: float
    fetches: bool


def inversions(loop: Outcome, priority: list[int]) -> Iterator[Inversion]:
    """The inversions of a run that has ended which made it longer.

    Args:
        priority: (u,) the planned order, smallest first.
    """
    slack = slacks(loop)
    for line in lines_of(loop):
        starts = [loop.start[unit] for unit in line]
        for late in line:
            able = could_begin(loop, late)
            cost = loop.start[late] - able - max(0.0, slack[late])
            if cost <= 0:
                continue
            early = _running(loop, line, bisect_left(starts, able), able)
            if early >= 0 and priority[early] > priority[late]:
                wait = able - ready_at(loop, early)
                fetches = able > ready_at(loop, late)
                yield Inversion(early, late, wait, able - loop.start[early], cost, fetches)


def ready_at(loop: Outcome, unit: int) -> float:
    """When the last input of the unit was done, and its release was past."""
    return max([loop.release[unit], *(loop.end[producer] for producer in loop.units.inputs[unit])])


def could_begin(loop: Outcome, unit: int) -> float:
    """When all inputs of the unit were on its worker."""
    worker, moment = loop.worker[unit], ready_at(loop, unit)
    for producer in loop.units.inputs[unit]:
        moment = max(moment, loop.transfers.get((producer, worker), (0.0, 0.0, 0.0))[2])
    return moment


def _running(loop: Outcome, line: list[int], place: int, moment: float) -> int:
    """Of the units that began before that place, the last-ending one that runs then; else -1."""
    threads = loop.instance.cluster.workers[loop.worker[line[0]]].threads
    latest = line[max(0, place - threads) : place]
    running = [unit for unit in latest if loop.end[unit] > moment]
    return max(running, key=loop.end.__getitem__, default=-1)
