"""Decision: from a forecast to advice. Loads the simulators: imported only when it is needed."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import PlanRecord
from orchestrator_core.orchestrate.adopt import NO_LESSONS, Verdict, judge
from orchestrator_core.orchestrate.experience import Lessons
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.price_limit import price_first, within_price
from orchestrator_core.orchestrate.worth import Worth, worth
from orchestrator_core.plan.bounds import Bound
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.dates import has_deadlines, lateness_first
from orchestrator_core.plan.first_bound import first_bound
from orchestrator_core.plan.objective import MAKESPAN
from orchestrator_core.plan.objectives.judge import keeps

BOUNDING = 0.5
"""Seconds of a planning in which a bound on the makespan may have its part."""


def advice_on(
    forecast: Forecast,
    min_gain: float,
    remark: str,
    begun: float,
    max_price: float | None = None,
    lessons: Lessons = NO_LESSONS,
    by_time: Callable[..., Verdict] = judge,
) -> Advice:
    """Is the plan to be followed?

    Args:
        min_gain: part of what Dask's own way costs that it must save.
        remark: what people are to know beside the reason. begun: `time.perf_counter` when planning
            began.
        max_price: where Dask's own way costs more, the plan is judged by its price; its repairs
            keep to it.
        lessons: what Dask alone really took in earlier runs.
        by_time: `judge`, or what takes less time and its arguments.
    """
    verdict = _verdict(forecast, min_gain, max_price, lessons, by_time)
    return advised(forecast, verdict, _bound(forecast), remark, begun, max_price)


def advice_within(
    max_price: float,
    budget: Budget | None,
    forecast: Forecast,
    min_gain: float,
    remark: str,
    begun: float,
    lessons: Lessons = NO_LESSONS,
    by_time: Callable[..., Verdict] = judge,
) -> Advice:
    """The same, once the forecast has a plan that costs no more, if one is found.

    Args:
        budget: of looking for another plan; None for `share_of` the run. Others as of `advice_on`.
    """
    forecast, dear = within_price(forecast, max_price, budget)
    if dear:
        # What would be sooner costs more: nobody will mend the plan that way.
        by_time = partial(by_time, mends=False)
    return advice_on(forecast, min_gain, remark + dear, begun, max_price, lessons, by_time)


def advised(
    forecast: Forecast,
    verdict: Verdict | Worth,
    bound: Bound,
    remark: str,
    begun: float,
    max_price: float | None = None,
) -> Advice:
    """The verdict on a forecast as advice; arguments as of `advice_on`."""
    result, reason = forecast.result, remark + verdict.reason
    record = PlanRecord(
        schedule=result.schedule,
        predicted=forecast.expected,
        lower_bound=bound.seconds,
        bound_method=bound.method,
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
        max_price=max_price,
    )


def _bound(forecast: Forecast) -> Bound:
    """What no run ends sooner than, whatever the plan is to minimise."""
    result = forecast.result
    if forecast.objective.primary == MAKESPAN.primary:
        return Bound(result.lower_bound, result.bound_method)
    return first_bound(forecast.instance, MAKESPAN, BOUNDING)


def _verdict(
    forecast: Forecast,
    min_gain: float,
    max_price: float | None,
    lessons: Lessons,
    by_time: Callable[..., Verdict],
) -> Verdict | Worth:
    instance, pessimistic = forecast.instance, forecast.pessimistic
    schedule, objective = forecast.result.schedule, forecast.objective
    if has_deadlines(instance.graph):
        objective = lateness_first(objective)
    if max_price is not None:
        by_price = worth(instance, pessimistic, schedule, price_first(objective), 0.0, lessons)
        if not keeps(by_price.default[0], max_price):
            return by_price
    if objective == MAKESPAN:
        bound = forecast.result.lower_bound
        return by_time(instance, pessimistic, schedule, min_gain, lessons=lessons, bound=bound)
    return worth(instance, pessimistic, schedule, objective, min_gain, lessons)
