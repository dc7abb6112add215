from __future__ import annotations

import time

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance, UnsupportedInstance
from orchestrator_core.graph import Cluster, Edge, Link, Task, TaskGraph, Worker
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.cpsat.solve import solve
from orchestrator_core.plan.cpsat.wire import Answer, Limits
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.time_indexed import optimal_makespan, optimal_value
from tests.plan.known import KNOWN, Known, instance_of
from tests.plan.tiny import tiny_instance, tiny_instances

CUT_OFF_ONCE = (122, 556, 710)
"""Seeds of which CP-SAT 9.15 called a worse schedule optimal, while two modes of a task on one
worker shared their start variable in one cumulative."""


@pytest.mark.parametrize("known", KNOWN, ids=[known.name for known in KNOWN])
def test_known_optimum(known: Known) -> None:
    found = optimal_makespan(known.instance, tick=1.0)
    assert found.makespan == known.optimum, known.reason
    assert found.schedule.makespan == known.optimum
    check_schedule(known.instance, found.schedule)


def test_times_may_be_any_multiple_of_the_tick() -> None:
    instance = instance_of([Task("a", seconds=0.3), Task("b", seconds=0.7)], [Worker("w")])
    assert optimal_makespan(instance, tick=0.1).makespan == pytest.approx(1.0)


def test_refuses_times_between_ticks() -> None:
    instance = instance_of([Task("a", seconds=1.5)], [Worker("w")])
    with pytest.raises(UnsupportedInstance, match=r"duration of 'a' is 1\.5 s, no whole number"):
        optimal_makespan(instance, tick=1.0)


def test_refuses_large_instances() -> None:
    instance = instance_of([Task("a", seconds=1, count=300)], [Worker("w"), Worker("v")])
    with pytest.raises(UnsupportedInstance, match="300 task instances on 2 workers"):
        optimal_makespan(instance, tick=0.5)


def test_says_when_nothing_fits_in_the_horizon() -> None:
    instance = instance_of([Task("a", seconds=2), Task("b", seconds=2)], [Worker("w")])
    with pytest.raises(InfeasibleInstance, match="within 3 ticks"):
        optimal_makespan(instance, tick=1.0, horizon=3)


def test_the_price_counts_what_is_on_its_way_when_the_last_task_has_ended() -> None:
    """b waits for nothing but the start of what a hands on, which takes 8 s to arrive: w1 is leased
    for 2 + 8 s, w0 for 8 s. That is so, too, if everything begins as late as the horizon allows."""
    tasks = [
        Task("a", seconds=2, output_bytes=8, eligible=("w1",)),
        Task("b", seconds=1, eligible=("w0",)),
    ]
    cluster = Cluster([Worker("w0", price=3600), Worker("w1", price=3600)], Link(bandwidth=1.0))
    instance = Instance.price(TaskGraph.from_tasks(tasks, [Edge("a", "b", nbytes=0.0)]), cluster)
    found = optimal_value(instance, "price", tick=1.0)
    assert found.value == pytest.approx((18.0,))
    assert evaluate(instance, found.schedule, "price") == pytest.approx((18.0,))


def _by_cpsat(instance: Instance) -> Answer:
    return solve(instance, None, 0.0, Limits(until=time.monotonic() + 60.0, workers=1))


def _agree(seed: int, instance: Instance) -> None:
    answer = _by_cpsat(instance)
    if answer.schedule is None:
        assert answer.status == "INFEASIBLE", seed
        with pytest.raises(InfeasibleInstance):
            optimal_makespan(instance, tick=1.0)
        return
    check_schedule(instance, answer.schedule)
    # One tick more than CP-SAT needed: were its schedule too good to be true, the checker says so.
    optimum = optimal_makespan(instance, 1.0, horizon=round(answer.schedule.makespan) + 1)
    check_schedule(instance, optimum.schedule)
    assert optimum.schedule.makespan == optimum.makespan, seed
    assert answer.schedule.makespan == pytest.approx(optimum.makespan, abs=1e-9), seed
    assert answer.lower_bound == pytest.approx(optimum.makespan, abs=1e-9), seed
    # With the optimum as its horizon, the model must neither lose it nor find a better one.
    again = solve(instance, optimum.schedule, 0.0, Limits(until=time.monotonic() + 60.0, workers=1))
    assert again.status == "OPTIMAL", seed
    assert again.schedule is None, seed
    assert again.lower_bound == pytest.approx(optimum.makespan, abs=1e-9), seed


@pytest.mark.parametrize("first", range(0, 300, 20))
def test_oracle_cpsat_and_checker_agree(first: int) -> None:
    """More than 200 random instances in all, 20 seeds a time."""
    for seed, instance in tiny_instances(range(first, first + 20)):
        _agree(seed, instance)


@pytest.mark.parametrize("seed", CUT_OFF_ONCE)
def test_modes_on_one_worker_keep_the_optimum(seed: int) -> None:
    _agree(seed, tiny_instance(seed))
