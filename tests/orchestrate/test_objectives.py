"""Other objectives than the makespan, and deadlines: planned for, judged by, and remembered."""

from __future__ import annotations

import pytest

from orchestrator_core import Cluster, InvalidInput, Orchestrator, TaskGraph, Worker
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.dates import lateness_first, softened
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives.saving import saves
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.store.memory import MemoryStore

QUICK = Budget(seconds=0.5)


def cluster() -> Cluster:
    """Twice as fast for ten times the price."""
    return Cluster(
        [
            Worker("dear", kind="dear", speed=2.0, price=36_000.0),
            Worker("cheap", kind="cheap", speed=1.0, price=3_600.0),
        ]
    )


def tasks(n: int = 8, **dates: float) -> TaskGraph:
    builder = TaskGraph.build()
    for i in range(n):
        builder.task(f"t{i}", kind="t", seconds=1.0, **(dates if i == n - 1 else {}))
    return builder.done()


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    """What is compiled is loaded before any budget counts."""
    instance = Orchestrator(MemoryStore()).price(tasks(due=1.0), cluster())
    for objective, name in (("price", "price-subsets"), ("tardiness", "tardiness-lists")):
        plan(instance, Budget(iterations=1), ("heft", "edf", name), objective=objective)


def places(advice) -> dict[str, str]:
    return {a.task: a.worker for a in advice.plan.schedule.assignments}


@pytest.mark.parametrize("how", ["at construction", "by the graph"])
def test_the_cheapest_plan_leaves_dear_workers_alone(how):
    if how == "at construction":
        advice = Orchestrator(MemoryStore(), objective="price", budget=QUICK).advise(
            tasks(), cluster(), "flow"
        )
    else:
        orchestrator = Orchestrator(MemoryStore(), budget=QUICK)
        advice = orchestrator.advise(tasks(), cluster(), "flow", objective="price")
    assert advice.adopted, advice.reason
    assert set(places(advice).values()) == {"cheap"}
    # 8 s of work at speeds 2 and 1: what is promised to people is a bound on the seconds.
    assert advice.plan.lower_bound == pytest.approx(8 / 3)
    assert "price is 8 against" in advice.reason
    # On both workers it would take 3 s, which no repair of a plan for the price makes of it.
    assert advice.plan.predicted == pytest.approx(8.0)
    assert advice.plan.default_predicted == pytest.approx(3.0), "Dask uses both, and pays for them"
    assert advice.instance is not None, "a plan for the price is mended, too"
    assert str(advice.objective) == "price"


def test_an_objective_that_there_is_not():
    with pytest.raises(InvalidInput, match="no criterion 'speed'"):
        Orchestrator(MemoryStore(), objective="speed")
    advice = Orchestrator(MemoryStore()).advise(tasks(), cluster(), "flow", objective="speed")
    assert advice.plan is None
    assert "there is no criterion 'speed'" in advice.reason


def test_each_objective_has_schedules_of_its_own():
    store = MemoryStore()
    orchestrator = Orchestrator(store, budget=QUICK)
    for _ in range(2):
        for objective in (None, "price"):
            orchestrator.advise(tasks(), cluster(), "flow", objective=objective)
    caches = [
        orchestrator.advise(tasks(), cluster(), "flow", objective=o).plan.cache
        for o in (None, "price")
    ]
    assert caches == ["hit", "hit"]
    orchestrator.close()
    assert sorted(s.key.objective for s in store.schedules()) == ["makespan", "price"]
    priced = orchestrator.price(tasks(), cluster())
    keys = Keys.of(priced.graph, priced.cluster)
    assert keys.priced(priced) != keys.priced(priced, Objective(("price",)))


def test_what_is_due_soon_comes_first():
    """Dask knows no due dates: the task that it would run last is due after a second."""
    orchestrator = Orchestrator(MemoryStore(), objective="tardiness,makespan", budget=QUICK)
    advice = orchestrator.advise(tasks(due=1.0), cluster(), "flow")
    assert advice.adopted, advice.reason
    ends = {a.task: a.end for a in advice.plan.schedule.assignments}
    assert ends["t7"] <= 1.0
    assert "tardiness is 0 against" in advice.reason


def test_a_deadline_that_can_be_met_is():
    advice = Orchestrator(MemoryStore(), budget=QUICK).advise(
        tasks(deadline=1.0), cluster(), "flow"
    )
    assert advice.adopted, advice.reason
    assert {a.task: a.end for a in advice.plan.schedule.assignments}["t7"] <= 1.0
    assert "cannot be met" not in advice.reason


@pytest.mark.parametrize("late", ["one task", "all of them"])
def test_a_deadline_that_cannot_be_met_is_missed_by_little(late):
    """Half a second is what the fast worker needs for it; all eight need 8/3 s on both."""
    if late == "one task":
        graph = tasks(deadline=0.2)
    else:
        builder = TaskGraph.build()
        for i in range(8):
            builder.task(f"t{i}", kind="t", seconds=1.0, deadline=1.0)
        graph = builder.done()
    advice = Orchestrator(MemoryStore(), budget=QUICK).advise(graph, cluster(), "flow")
    assert advice.plan is not None
    assert "deadlines cannot be met" in advice.reason
    ends = {a.task: a.end for a in advice.plan.schedule.assignments}
    if late == "one task":
        assert ends["t7"] == pytest.approx(0.5)
    else:
        assert len(ends) == 8


def test_a_softened_deadline_is_a_due_date():
    graph = softened(tasks(deadline=2.0, due=3.0))
    assert graph.task("t7").due == 2.0
    assert graph.task("t7").deadline is None
    assert graph.task("t0").due is None
    assert lateness_first(Objective(("price", "tardiness"))).criteria == ("tardiness", "price")


def test_what_is_stated_fills_in_for_what_was_not_learned():
    """One kind is stated, one is neither stated nor learned: that one is what is waited for."""
    builder = TaskGraph.build()
    builder.task("a", kind="stated", seconds=1.0)
    builder.task("b", kind="unknown")
    advice = Orchestrator(MemoryStore()).advise(builder.done(), cluster(), "flow")
    assert advice.plan is None
    assert "first run" in advice.reason


@pytest.mark.parametrize(
    ("planned", "default", "verdict"),
    [
        ((0.94, 9.0), (1.0, 1.0), (True, 0)),
        ((0.96, 9.0), (1.0, 1.0), (False, 1)),
        ((0.96, 0.5), (1.0, 1.0), (True, 1)),
        ((1.01, 0.5), (1.0, 1.0), (False, 0)),
        ((0.0, 0.9), (0.0, 1.0), (True, 1)),
        ((0.0, 1.0), (0.0, 1.0), (False, 0)),
    ],
)
def test_the_first_criterion_that_differs_decides(planned, default, verdict):
    assert saves(planned, default, 0.05) == verdict
