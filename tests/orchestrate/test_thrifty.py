"""Forecasts whose plans hold much: others are followed that hold less."""

from __future__ import annotations

from orchestrator_core import plan
from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.simulate import simulate_placed
from orchestrator_core.execute.simulate.footprint import footprint
from orchestrator_core.orchestrate.adopt import judge
from orchestrator_core.orchestrate.expect import expected_makespans
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.thrifty import thrifty
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.objective import Objective
from tests.execute.memory_graphs import stream, tree


def forecast(instance: Instance, objective: str = "makespan") -> Forecast:
    result = plan(instance, budget=Budget(seconds=0.0))
    (expected,) = expected_makespans(instance, instance, (result.schedule,))
    return Forecast(instance, instance, result, expected, "miss", Objective.of(objective))


def test_another_plan_is_followed_where_it_holds_far_less() -> None:
    made = forecast(tree(128))
    found, measures, remark = thrifty(made)
    assert measures is not None
    assert not measures.prefetch
    check_schedule(made.instance, found.result.schedule)
    before, after = (
        footprint(made.instance, simulate_placed(made.instance, each.result.schedule)).peak
        for each in (made, found)
    )
    assert after < 0.3 * before
    assert found.expected <= 1.06 * made.expected
    assert found.result.value == found.result.schedule.makespan
    assert found.result.lower_bound == made.result.lower_bound
    assert "MB" in remark
    verdict = judge(made.instance, made.instance, found.result.schedule, 0.02, measures)
    assert verdict.adopt


def test_tasks_are_held_where_the_plan_stays() -> None:
    made = forecast(stream(20))
    found, measures, _ = thrifty(made)
    assert measures is not None
    assert measures.holds
    assert found.expected <= 1.02 * made.expected


def test_what_holds_little_stays_as_it_is() -> None:
    made = forecast(tree(32, chunk=1000.0))
    assert thrifty(made) == (made, None, "")


def test_plans_with_another_aim_stay_as_they_are() -> None:
    made = forecast(tree(64), objective="price, makespan")
    assert thrifty(made) == (made, None, "")
