"""Forecasts whose plans hold much: others are followed that hold less."""

from __future__ import annotations

import pytest

from orchestrator_core import plan
from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.measures.measures import Measures
from orchestrator_core.execute.simulate import simulate_default, simulate_placed
from orchestrator_core.execute.simulate.footprint import footprint
from orchestrator_core.orchestrate.at_once import quick, unrefined
from orchestrator_core.orchestrate.case import Case, answer
from orchestrator_core.orchestrate.expect import expected_makespans
from orchestrator_core.orchestrate.experience import Lessons
from orchestrator_core.orchestrate.finding import Finding, Refinement
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.judging import HUNGRY, judged
from orchestrator_core.orchestrate.question import Question
from orchestrator_core.orchestrate.thrifty import Thrift, saving, thrifty
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.objective import Objective
from tests.execute.memory_graphs import stream, tree


def forecast(instance: Instance, objective: str = "makespan") -> Forecast:
    result = plan(instance, budget=Budget(seconds=0.0))
    (mean,) = expected_makespans(instance, instance, (result.schedule,))
    return Forecast(instance, instance, result, mean, "miss", Objective.of(objective))


def test_another_plan_is_followed_where_it_holds_far_less() -> None:
    made = forecast(tree(128))
    found = thrifty(made)
    assert found is not None
    assert not found.measures.prefetch
    check_schedule(made.instance, found.result.schedule)
    before, after, plain = (
        footprint(made.instance, run).peak
        for run in (
            simulate_placed(made.instance, made.result.schedule),
            simulate_placed(made.instance, found.result.schedule),
            simulate_default(made.instance),
        )
    )
    assert after < 0.3 * before
    assert 0.3 < found.saves == pytest.approx(1 - after / plain, abs=0.1)
    assert expected(made, found) <= 1.06 * made.expected
    assert found.result.value == found.result.schedule.makespan
    assert found.result.lower_bound == made.result.lower_bound
    assert "MB" in found.remark


def test_tasks_are_held_where_the_plan_stays() -> None:
    made = forecast(stream(20))
    found = thrifty(made)
    assert found is not None
    assert found.measures.holds
    assert expected(made, found) <= 1.02 * made.expected


def test_what_holds_little_stays_as_it_is() -> None:
    assert thrifty(forecast(tree(32, chunk=1000.0))) is None


def test_plans_with_another_aim_stay_as_they_are() -> None:
    assert thrifty(forecast(tree(64), objective="price, makespan")) is None


def test_a_plan_that_saves_memory_alone_is_followed() -> None:
    """It takes as long as Dask's own order; refused, if it were for time alone."""
    instance = tree(128)
    found = thrifty(forecast(instance))
    assert found is not None
    for saves, adopted in ((found.saves, True), (0.0, False)):
        refinement = Refinement(found.result, found.measures, True, saves, found.remark)
        advice = asked(instance, refinement, 0.9)
        assert advice.adopted is adopted
        assert bool(advice.holds) is (adopted and bool(found.measures.holds))


def asked(instance: Instance, refinement: Refinement, min_gain: float) -> Advice:
    """What is said of the plan, if it must save this part of Dask's time."""
    decided = judged(instance, instance, refinement, min_gain, Lessons())
    return answer(instance, Finding(refinement, "", decided), "miss", 0.0)


def expected(made: Forecast, found: Thrift) -> float:
    """Mean makespan of the found plan in seconds, with what is held back for it."""
    schedules = (found.result.schedule,)
    (mean,) = expected_makespans(made.instance, made.pessimistic, schedules, found.measures)
    return mean


def test_a_plan_that_holds_far_more_than_dask_for_little_time_is_refused() -> None:
    instance = tree(128)
    result = forecast(instance).result
    assert saving(instance, result.schedule) < -0.25
    advice = asked(instance, unrefined(result), 0.0)
    assert not advice.adopted
    assert advice.reason == HUNGRY


def test_a_plan_is_not_refused_for_bytes_that_every_worker_has_in_plenty() -> None:
    """The same tree, on workers of 256 GB: it holds less than a hundredth of each."""
    instance = tree(128, memory=256e9)
    result = forecast(instance).result
    assert saving(instance, result.schedule) < -0.25
    assert footprint(instance, result.schedule).share < 0.01
    assert asked(instance, unrefined(result), 0.0).reason != HUNGRY


def test_who_waits_gets_a_plan_that_holds_little_at_once() -> None:
    """Few others are tried: still at most half of what the fastest plan would hold."""
    instance = tree(128)
    result = forecast(instance).result
    first = next(quick(instance, result))
    assert saving(instance, first.result.schedule) > 0.25
    assert asked(instance, first, 0.05).adopted
    small = tree(32, chunk=1000.0)
    given = forecast(small).result
    assert list(quick(small, given)) == [unrefined(given)]


def slow_but_small(instance: Instance) -> Refinement:
    """A plan that is said to hold fewer bytes, and keeps all loads back for two seconds."""
    result = forecast(instance).result
    names = instance.graph.names
    hold = Hold(done=frozenset(names[-1:]), patience=2.0)
    holds = {name: hold for name in names if name.startswith("load-")}
    return Refinement(result, Measures(holds), True, saves=0.1, remark="fewer bytes are held; ")


def case_of(instance: Instance, min_gain: float) -> Case:
    question = Question(instance.graph, instance.cluster, "flow", min_gain=min_gain)
    return Case(instance, instance, question)


class TestBest:
    def test_fewer_bytes_come_first_only_where_that_is_worth_following(self) -> None:
        instance = tree(32, chunk=1000.0)
        small, fast = slow_but_small(instance), unrefined(forecast(instance).result)
        case = case_of(instance, 0.05)
        assert case.best((fast, small), "").refinement is fast
        found = case.best((small, fast), "")
        assert found.judged.adopt
        assert found.refinement is fast

    def test_where_nothing_is_worth_following_the_fastest_says_why(self) -> None:
        instance = tree(32, chunk=1000.0)
        small, fast = slow_but_small(instance), unrefined(forecast(instance).result)
        found = case_of(instance, 0.9).best((small, fast), "")
        assert not found.judged.adopt
        assert found.refinement is fast
        assert "fewer bytes" not in found.judged.reason
