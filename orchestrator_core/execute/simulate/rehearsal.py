"""Rehearsal: a plan made ready to be simulated many times, each time with other durations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numpy.typing import ArrayLike

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.directives import Hold, Key
from orchestrator_core.execute.simulate.event_loop import EventLoop
from orchestrator_core.execute.simulate.outcome import schedule_of
from orchestrator_core.execute.simulate.placed_policy import PlacedPolicy, SteeredPolicy
from orchestrator_core.execute.simulate.replay import lengths_of, seconds_of
from orchestrator_core.execute.simulate.units import units_of
from orchestrator_core.plan.checks.rows import resolve
from orchestrator_core.plan.schedule import Schedule

NO_HOLDS: Mapping[str, Hold] = {}


def simulate_placed(
    instance: Instance,
    schedule: Schedule,
    seconds: ArrayLike | None = None,
    *,
    holds: Mapping[str, Hold] = NO_HOLDS,
    prefetch: bool = False,
) -> Schedule:
    """The schedule that Dask comes to with the places, modes and order of a plan.

    Tasks run in one piece. It may be longer than the plan, or shorter. Breaks no rule but memory
    and deadline.

    Args:
        schedule: valid for the instance.
        seconds: (modes, workers) durations that come instead of the instance's.
        holds: by task name: what is kept back although it is ready.
        prefetch: are outputs sent ahead to where tasks are planned that wait for other inputs?

    Raises:
        InvalidSchedule: if it is not a schedule of this instance.
        InvalidInstance: if `seconds` lacks a duration that is needed.
    """
    return schedule_of(Rehearsal(instance, schedule).run(seconds, holds, prefetch))


class Rehearsal:
    """What does not change from one simulation of a plan to the next.

    Attributes:
        units: the instances of its tasks. workers: (u,) where each is planned.
        priority: (u,) place in the order of planned starts.
    """

    def __init__(self, instance: Instance, schedule: Schedule) -> None:
        """Raises InvalidSchedule if it is not a schedule of this instance."""
        self.instance = instance
        self.units = units_of(instance.graph)
        self._rows = rows = resolve(instance, schedule)
        self._modes: list[int] = rows.mode[rows.row_of].tolist()
        self.workers: list[int] = rows.worker[rows.row_of].tolist()
        start = schedule.start[rows.row_of].tolist()
        self.priority = [0] * len(self.units)
        # Producers first where planned starts are equal; the sort is stable.
        for place, unit in enumerate(sorted(self.units.order, key=start.__getitem__)):
            self.priority[unit] = place

    def run(
        self,
        seconds: ArrayLike | None = None,
        holds: Mapping[str, Hold] = NO_HOLDS,
        prefetch: bool = False,
    ) -> EventLoop:
        """A loop that has run to its end; arguments and errors as of `simulate_placed`."""
        table = seconds_of(self.instance, seconds)
        lengths_of(self._rows, table)
        loop = EventLoop(self.instance, self.units, self._modes, self.priority, table)
        loop.run(self._policy(loop, holds, prefetch))
        return loop

    def makespan(
        self,
        seconds: ArrayLike | None = None,
        holds: Mapping[str, Hold] = NO_HOLDS,
        prefetch: bool = False,
    ) -> float:
        """Seconds until everything is done; arguments and errors as of `simulate_placed`."""
        return self.run(seconds, holds, prefetch).makespan

    def _policy(self, loop: EventLoop, holds: Mapping[str, Hold], prefetch: bool) -> PlacedPolicy:
        if not holds and not prefetch:
            return PlacedPolicy(loop, self.workers)
        return SteeredPolicy(loop, self.workers, self._of_units(holds), prefetch)

    def _of_units(self, holds: Mapping[str, Hold]) -> dict[int, Hold]:
        """A hold of a task holds all its instances, until all instances of others are through."""
        return {
            unit: Hold(
                sent=frozenset(self._units_of(hold.sent)),
                done=frozenset(self._units_of(hold.done)),
                patience=hold.patience,
            )
            for name, hold in holds.items()
            for unit in self._units_of([name])
        }

    def _units_of(self, names: Iterable[Key]) -> list[int]:
        """The units of these tasks; names that the graph does not know are gone."""
        index, first = self.instance.graph.index, self.units.first
        known = [index[name] for name in names if isinstance(name, str) and name in index]
        return [unit for task in known for unit in range(first[task], first[task + 1])]
