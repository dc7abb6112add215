"""Dask with a plan's places and order, as far as Dask itself keeps them.

Dask tells a worker of a task only when all its inputs are done, so a worker fetches late; and a
worker begins whatever is ready, so a task that was planned later overtakes one that still waits.
`replay` is what a plan promises; this is what Dask makes of it.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.event_loop import EventLoop
from orchestrator_core.execute.replay import lengths_of, seconds_of
from orchestrator_core.execute.units import units_of
from orchestrator_core.plan.checks.rows import resolve
from orchestrator_core.plan.schedule import Schedule


def simulate_placed(
    instance: Instance, schedule: Schedule, seconds: ArrayLike | None = None
) -> Schedule:
    """The schedule that Dask comes to with the places, modes and order of a plan.

    Tasks run in one piece. It may be longer than the plan, or shorter. Breaks no rule but memory
    and deadline.

    Args:
        schedule: valid for the instance.
        seconds: (modes, workers) durations that come instead of the instance's.

    Raises:
        InvalidSchedule: if it is not a schedule of this instance.
        InvalidInstance: if `seconds` lacks a duration that is needed.
    """
    rows = resolve(instance, schedule)
    table = seconds_of(instance, seconds)
    lengths_of(rows, table)
    units = units_of(instance.graph)
    start = schedule.start[rows.row_of].tolist()
    priority = [0] * len(units)
    # Producers first where planned starts are equal; the sort is stable.
    for place, unit in enumerate(sorted(units.order, key=start.__getitem__)):
        priority[unit] = place
    loop = EventLoop(instance, units, rows.mode[rows.row_of].tolist(), priority, table)
    return loop.run(PlacedPolicy(loop, rows.worker[rows.row_of].tolist()))


class PlacedPolicy:
    """Gives each unit to its worker as soon as its inputs are done."""

    def __init__(self, loop: EventLoop, workers: list[int]) -> None:
        self.loop, self.workers = loop, workers

    def ready(self, unit: int) -> None:
        self.loop.give(unit, self.workers[unit])

    def done(self, unit: int) -> None:
        """Nothing to decide."""

    def arrived(self, unit: int, worker: int) -> None:
        """Nothing to decide."""

    def settle(self) -> None:
        """Nothing to decide."""
