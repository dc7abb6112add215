"""A limit on the price of a run: the best plan that keeps it, or the cheapest that is found.

The price is that of `Objective` ``price`` at expected durations; what takes longer costs more.
"""

from __future__ import annotations

from dataclasses import replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.orchestrate.expect import expected_makespan
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.share import share_of
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives.judge import keeps
from orchestrator_core.plan.objectives.pareto import ParetoFront, ParetoPoint, pareto
from orchestrator_core.plan.objectives.part_leases import within
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.schedule import Schedule

PLANNER = "pareto"


def within_price(forecast: Forecast, limit: float, budget: Budget | None) -> tuple[Forecast, str]:
    """The forecast, with another plan if its own costs too much; and what people are to know.

    Args:
        budget: of looking for another plan; None for `share_of` the run.
    """
    price = price_of(forecast.instance, forecast.result.schedule)
    if keeps(price, limit):
        return forecast, ""
    front = _front(forecast, limit, budget or share_of(forecast.instance))
    point = front.within("price", limit)
    if point is not None:
        remark = f"the best plan costs {price:.3g}, more than {limit:g}; "
        return _with(forecast, point, remark), remark
    point = min(front.points, key=lambda each: each.value[1])
    remark = f"no plan for {limit:g} was found, so this is the cheapest, for {point.value[1]:.3g}; "
    return _with(forecast, point, remark), remark


def price_of(instance: Instance, schedule: Schedule) -> float:
    """What the schedule costs at the durations of the instance; money."""
    return evaluate(instance, schedule, "price")[0]


def price_first(objective: Objective) -> Objective:
    """The objective behind the price."""
    return Objective(("price", *(name for name in objective.criteria if name != "price")))


def _front(forecast: Forecast, limit: float, budget: Budget) -> ParetoFront:
    """What is not dominated in (the first criterion beside the price, the price); finest where it
    costs about the limit."""
    others = [name for name in forecast.objective.criteria if name != "price"] or ["makespan"]
    instance = forecast.instance
    placed = (place(instance, choice) for choice in within(instance, limit))
    near = [schedule for schedule in placed if isinstance(schedule, Schedule)]
    return pareto(instance, budget, (others[0], "price"), (forecast.result.schedule, *near))


def _with(forecast: Forecast, point: ParetoPoint, remark: str) -> Forecast:
    instance, result = forecast.instance, forecast.result
    result = replace(
        result,
        schedule=point.schedule,
        planner=PLANNER,
        reason=f"{remark}{result.reason}",
        values=evaluate(instance, point.schedule, forecast.objective),
    )
    expected = expected_makespan(instance, forecast.pessimistic, result, mends=False)
    return replace(forecast, result=result, expected=expected, cache="miss")
