"""thrifty: a plan that holds fewer bytes, where that costs hardly any time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator_core.execute.measures.admission import Admission, admission
from orchestrator_core.execute.measures.measures import Measures
from orchestrator_core.orchestrate.dates import has_deadlines
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.plan.objective import MAKESPAN
from orchestrator_core.plan.result import PlanResult


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


def thrifty(forecast: Forecast) -> Thrift | None:
    """A plan that holds fewer bytes, if it hardly costs time; None if the given one is as good.

    Only plans for the makespan, without deadlines, are looked at.
    """
    if forecast.objective != MAKESPAN or has_deadlines(forecast.instance.graph):
        return None
    schedule = forecast.result.schedule
    found = admission(forecast.instance, schedule)
    if found.schedule is schedule and not found.holds:
        return None
    # Outputs that are sent ahead are held twice for longer, so nothing is.
    measures = Measures(found.holds, prefetch=False)
    result = replace(forecast.result, schedule=found.schedule, values=(found.schedule.makespan,))
    saves = 1.0 - found.peak / found.plain_peak if found.plain_peak > 0 else 0.0
    return Thrift(result, measures, saves, _remark(found))


def _remark(found: Admission) -> str:
    megabytes = f"{found.peak / 1e6:.3g} MB instead of {found.planned_peak / 1e6:.3g} MB"
    return f"tasks are placed and kept back so that at most {megabytes} are held at once; "
