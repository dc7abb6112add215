"""Decision: from a forecast to advice. Loads the simulators: imported only when it is needed."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import PlanRecord
from orchestrator_core.orchestrate.adopt import Verdict, judge
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.price_limit import price_first, within_price
from orchestrator_core.orchestrate.question import Question
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
    question: Question,
    forecast: Forecast,
    remark: str = "",
    budget: Budget | None = None,
    by_time: Callable[..., Verdict] = judge,
) -> Advice:
    """Is the plan to be followed? Under a limit on the price, one that keeps it is looked for.

    Args:
        remark: what people are to know beside the reason.
        budget: of looking for a plan within the price; None for `share_of` the run.
        by_time: `judge`, or what takes less time and its arguments.
    """
    if question.max_price is not None:
        forecast, dear = within_price(forecast, question.max_price, budget)
        if dear:
            # What would be sooner costs more: nobody will mend the plan that way.
            remark, by_time = remark + dear, partial(by_time, mends=False)
    verdict = _verdict(question, forecast, by_time)
    return advised(question, forecast, verdict, _bound(forecast), remark)


def advised(
    question: Question,
    forecast: Forecast,
    verdict: Verdict | Worth,
    bound: Bound,
    remark: str = "",
) -> Advice:
    """The verdict on a forecast as advice; arguments as of `advice_on`."""
    result, reason = forecast.result, remark + verdict.told(forecast.expected)
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
        planning_seconds=time.perf_counter() - question.begun,
    )
    return Advice(
        record,
        reason,
        instance=forecast.instance,
        objective=forecast.objective,
        holds=verdict.holds,
        prefetch=verdict.prefetch,
        max_price=question.max_price,
    )


def _bound(forecast: Forecast) -> Bound:
    """What no run ends sooner than, whatever the plan is to minimise."""
    result = forecast.result
    if forecast.objective.primary == MAKESPAN.primary:
        return Bound(result.lower_bound, result.bound_method)
    return first_bound(forecast.instance, MAKESPAN, BOUNDING)


def _verdict(
    question: Question, forecast: Forecast, by_time: Callable[..., Verdict]
) -> Verdict | Worth:
    """Where Dask's own way costs more than is allowed, the plan is judged by its price."""
    instance, pessimistic = forecast.instance, forecast.pessimistic
    schedule, objective = forecast.result.schedule, forecast.objective
    lessons, min_gain = question.lessons, question.min_gain
    if has_deadlines(instance.graph):
        objective = lateness_first(objective)
    if question.max_price is not None:
        by_price = worth(instance, pessimistic, schedule, price_first(objective), 0.0, lessons)
        if not keeps(by_price.default[0], question.max_price):
            return by_price
    if objective == MAKESPAN:
        bound = forecast.result.lower_bound
        return by_time(instance, pessimistic, schedule, min_gain, lessons=lessons, bound=bound)
    return worth(instance, pessimistic, schedule, objective, min_gain, lessons)
