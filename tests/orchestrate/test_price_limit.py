"""A run may cost so much: the plan keeps to it, or is the cheapest."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core import Cluster, Orchestrator, TaskGraph, Worker
from orchestrator_core.costs.stated import StatedCosts
from orchestrator_core.orchestrate.price_limit import price_first, price_of
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.objective import Objective
from orchestrator_core.store.memory import MemoryStore

QUICK = Budget(seconds=0.5)


def cluster() -> Cluster:
    """Money a second: 10 for the fast worker, 1 for the slow one."""
    return Cluster(
        [
            Worker("dear", kind="dear", speed=2.0, price=36_000.0),
            Worker("cheap", kind="cheap", speed=1.0, price=3_600.0),
        ]
    )


def tasks() -> TaskGraph:
    """8 s of work: 8 money on the cheap worker; 4 s on the dear one, 40; about 28 s on both."""
    builder = TaskGraph.build()
    for i in range(8):
        builder.task(f"t{i}", kind="t", seconds=1.0)
    return builder.done()


@pytest.mark.parametrize(
    ("limit", "fits"), [(100.0, True), (20.0, True), (8.0, True), (5.0, False)]
)
def test_what_is_planned_keeps_the_limit_if_anything_does(limit: float, fits: bool) -> None:
    orchestrator = Orchestrator(MemoryStore(), budget=QUICK, max_price=limit)
    advice = orchestrator.advise(tasks(), cluster(), "flow")
    assert advice.plan is not None
    assert advice.instance is not None
    price = price_of(advice.instance, advice.plan.schedule)
    assert (price <= limit + 1e-9) == fits
    assert ("so this is the cheapest" in advice.reason) == (not fits)
    if not fits:
        assert price == pytest.approx(8.0), "nothing is cheaper than the cheap worker alone"


def test_the_plan_within_the_limit_is_the_faster_the_more_may_be_spent() -> None:
    ends = []
    for limit in (8.0, 20.0, 100.0):
        orchestrator = Orchestrator(MemoryStore(), budget=QUICK, max_price=limit)
        plan = orchestrator.advise(tasks(), cluster(), "flow").plan
        assert plan is not None
        ends.append(plan.schedule.makespan)
        assert plan.predicted == pytest.approx(plan.schedule.makespan), "nothing dear mends it"
    assert ends[0] == pytest.approx(8.0)
    assert ends[0] > ends[1] > ends[2]


def test_a_slower_plan_is_followed_where_dasks_own_way_costs_too_much() -> None:
    plain = Orchestrator(MemoryStore(), budget=QUICK).advise(tasks(), cluster(), "flow")
    limited = Orchestrator(MemoryStore(), budget=QUICK, max_price=9.0)
    advice = limited.advise(tasks(), cluster(), "flow")
    assert plain.plan is not None
    assert advice.plan is not None
    assert advice.plan.schedule.makespan > plain.plan.schedule.makespan
    assert advice.adopted, advice.reason
    assert "its price is 8 against" in advice.reason


def test_a_limit_that_the_best_plan_keeps_changes_nothing() -> None:
    plain = Orchestrator(MemoryStore(), budget=Budget(iterations=3))
    limited = Orchestrator(MemoryStore(), budget=Budget(iterations=3), max_price=1e6)
    one, other = (each.advise(tasks(), cluster(), "flow").plan for each in (plain, limited))
    assert one is not None
    assert other is not None
    assert one.schedule == other.schedule
    assert one.reason == other.reason


def test_a_limit_that_is_met_exactly_is_kept() -> None:
    """3 s at 0.1 a second, which as floats make 0.30000000000000004."""
    builder = TaskGraph.build()
    for i in range(3):
        builder.task(f"t{i}", kind="t", seconds=1.0)
    only = Cluster([Worker("w", price=360.0)])
    orchestrator = Orchestrator(MemoryStore(), budget=Budget(iterations=3), max_price=0.3)
    assert "cheapest" not in orchestrator.advise(builder.done(), only, "flow").reason


def test_the_price_comes_before_the_other_criteria() -> None:
    assert price_first(Objective.of("tardiness,price")) == Objective.of("price,tardiness")
    assert price_first(Objective()) == Objective.of("price,makespan")


def test_a_spread_widens_what_is_stated_and_nothing_else() -> None:
    """exp(z * sqrt(log(1 + (sd / mean)^2))) at the 0.9 quantile, z = 1.2816; 1 at the median."""
    builder = TaskGraph.build()
    for name in ("train-0", "train-1", "load-0"):
        builder.task(name, kind="k", seconds=10.0)
    graph, costs = builder.done(), StatedCosts({"train": 0.5})
    median = costs.compute_seconds(graph, cluster())
    wide = costs.compute_seconds(graph, cluster(), 0.9)
    assert median[:, 1].tolist() == [10.0, 10.0, 10.0]
    factor = np.exp(1.2815515655446004 * np.sqrt(np.log(1.25)))
    assert wide[:, 1] == pytest.approx([10 * factor, 10 * factor, 10.0])
    assert wide[:, 0] == pytest.approx([5 * factor, 5 * factor, 5.0])


def test_an_orchestrator_prices_with_the_spread_that_it_was_told() -> None:
    told = Orchestrator(MemoryStore(), stated=StatedCosts({"t": 1.0}))
    builder = TaskGraph.build()
    builder.task("t-0", kind="t", seconds=1.0)
    graph = builder.done()
    assert told.price(graph, cluster(), 0.9).seconds[0, 1] > 2.0
    assert told.price(graph, cluster()).seconds[0, 1] == 1.0
