"""thrifty: a plan that holds fewer bytes, where that costs hardly any time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.measures.admission import LEAST_PEAK, Admission, admission
from orchestrator_core.execute.measures.measures import Measures
from orchestrator_core.execute.simulate import simulate_default, simulate_placed
from orchestrator_core.execute.simulate.footprint import footprint
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.plan.dates import has_deadlines
from orchestrator_core.plan.objective import MAKESPAN
from orchestrator_core.plan.result import PlanResult
from orchestrator_core.plan.schedule import Schedule

LEAST_SHARE = 0.2
"""Part of a worker's memory; who holds less on each worker is not refused for its bytes."""


@dataclass(frozen=True, slots=True)
class Thrift:
    """A plan that holds fewer bytes.

    Attributes:
        measures: what belongs to it.
        saves: part of the bytes that Dask alone would hold at once and this does not; may be < 0.
        remark: for people.
    """

    result: PlanResult
    measures: Measures
    saves: float
    remark: str


def thrifty(forecast: Forecast, most: int | None = None) -> Thrift | None:
    """A plan that holds fewer bytes, if it hardly costs time; None if the given one is as good.

    Only plans for the makespan, without deadlines, are looked at; `most` others, for who is in a
    hurry.
    """
    if forecast.objective != MAKESPAN or has_deadlines(forecast.instance.graph):
        return None
    schedule = forecast.result.schedule
    found = admission(forecast.instance, schedule, most=most)
    if found.schedule is schedule and not found.holds:
        return None
    # Outputs that are sent ahead are held twice for longer, so nothing is.
    measures = Measures(found.holds, prefetch=False)
    result = replace(forecast.result, schedule=found.schedule, values=(found.schedule.makespan,))
    saves = 1.0 - found.peak / found.plain_peak if found.plain_peak > 0 else 0.0
    return Thrift(result, measures, saves, _remark(found))


def saving(instance: Instance, schedule: Schedule) -> float:
    """Part of the bytes that Dask alone would hold at once and the schedule does not; < 0 where it
    holds more. By simulation of both."""
    plain = footprint(instance, simulate_default(instance)).peak
    ours = footprint(instance, simulate_placed(instance, schedule)).peak
    return 1.0 - ours / plain if plain > 0 else 0.0


def is_small(instance: Instance, schedule: Schedule) -> bool:
    """Does it hold so few bytes, in all or of each worker's memory, that nobody need think of
    them?"""
    taken = footprint(instance, schedule)
    return taken.fits and (taken.peak < LEAST_PEAK or taken.share < LEAST_SHARE)


def _remark(found: Admission) -> str:
    megabytes = f"{found.peak / 1e6:.3g} MB instead of {found.planned_peak / 1e6:.3g} MB"
    return f"tasks are placed and kept back so that at most {megabytes} are held at once; "
