"""thrifty: a forecast whose plan holds fewer bytes, where that costs hardly any time."""

from __future__ import annotations

from dataclasses import replace

from orchestrator_core.execute.measures.admission import Admission, admission
from orchestrator_core.execute.measures.measures import Measures
from orchestrator_core.orchestrate.dates import has_deadlines
from orchestrator_core.orchestrate.expect import expected_makespans
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.plan.objective import MAKESPAN


def thrifty(forecast: Forecast) -> tuple[Forecast, Measures | None, str]:
    """The forecast to follow, the measures that belong to it, and a remark for people.

    Measures are None where the plan is as it was: what is best for it may be chosen. Only plans for
    the makespan, without deadlines, are changed.
    """
    if forecast.objective != MAKESPAN or has_deadlines(forecast.instance.graph):
        return forecast, None, ""
    schedule = forecast.result.schedule
    found = admission(forecast.instance, schedule)
    if found.schedule is schedule and not found.holds:
        return forecast, None, ""
    # Outputs that are sent ahead are held twice for longer, so nothing is.
    measures = Measures(found.holds, prefetch=False)
    result = replace(forecast.result, schedule=found.schedule, values=(found.schedule.makespan,))
    instance, pessimistic = forecast.instance, forecast.pessimistic
    (expected,) = expected_makespans(instance, pessimistic, (found.schedule,), measures)
    return replace(forecast, result=result, expected=expected), measures, _remark(found)


def _remark(found: Admission) -> str:
    megabytes = f"{found.peak / 1e6:.3g} MB instead of {found.planned_peak / 1e6:.3g} MB"
    return f"tasks are placed and kept back so that at most {megabytes} are held at once; "
