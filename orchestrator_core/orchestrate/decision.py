"""Decision: from a forecast to advice. Loads the simulators: imported only when it is needed."""

from __future__ import annotations

import time

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import PlanRecord
from orchestrator_core.orchestrate.adopt import Verdict, judge
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.worth import Worth, worth
from orchestrator_core.plan.dates import has_deadlines, lateness_first
from orchestrator_core.plan.objective import MAKESPAN


def advice_on(forecast: Forecast, min_gain: float, remark: str, begun: float) -> Advice:
    """Is the plan to be followed?

    Args:
        min_gain: part of what Dask's own way costs that it must save.
        remark: what people are to know beside the reason. begun: `time.perf_counter` when planning
            began.
    """
    verdict, result = _verdict(forecast, min_gain), forecast.result
    reason = remark + verdict.reason
    record = PlanRecord(
        schedule=result.schedule,
        predicted=forecast.expected,
        lower_bound=result.lower_bound,
        bound_method=result.bound_method,
        planner=result.planner,
        cache=forecast.cache,
        adopted=verdict.adopt,
        reason=reason,
        default_predicted=verdict.default_predicted,
        planning_seconds=time.perf_counter() - begun,
    )
    return Advice(
        record,
        reason,
        instance=forecast.instance,
        objective=forecast.objective,
        holds=verdict.holds,
        prefetch=verdict.prefetch,
    )


def _verdict(forecast: Forecast, min_gain: float) -> Verdict | Worth:
    instance, pessimistic = forecast.instance, forecast.pessimistic
    schedule, objective = forecast.result.schedule, forecast.objective
    if has_deadlines(instance.graph):
        objective = lateness_first(objective)
    if objective == MAKESPAN:
        return judge(instance, pessimistic, schedule, min_gain)
    return worth(instance, pessimistic, schedule, objective, min_gain)
