"""A run that may cost so much: its repairs keep to that, or say that they cannot; by hand."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core import Cluster, Orchestrator, TaskGraph, Worker
from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.live import Correction, Course, Execution, LivePlan, Sight
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_core.store.memory import MemoryStore

DEAR = Worker("dear", kind="dear", price=36_000.0)  # 10 for each second that it is held
CHEAP = Worker("cheap", kind="cheap", price=3_600.0)  # 1
MACHINES = Cluster.from_matrices([DEAR, CHEAP])


def course(on: str, max_price: float | None, objective: str = "makespan") -> Course:
    """Six independent tasks of a second, one after the other; 6 s, for 6 or for 60."""
    names = [f"t{i}" for i in range(6)]
    graph = TaskGraph.from_columns(names, kinds=names, seconds=np.ones(6))
    rows = [Assignment(name, on, float(i), i + 1.0) for i, name in enumerate(names)]
    instance = Instance.price(graph, MACHINES)
    return Course(instance, Schedule(rows), objective=Objective.of(objective), max_price=max_price)


def late(on: str, sent: int = 6) -> Sight:
    """The first task took 4 s instead of one; others were sent to the same worker."""
    return Sight(
        now=4.0,
        cluster=MACHINES,
        finished={"t0": Execution(on, 0.0, 4.0)},
        sent={f"t{i}": (on, 0.0) for i in range(1, sent)},
    )


def price(found: Correction) -> float:
    return evaluate(found.rest, found.schedule, "price")[0]


def where(found: Correction) -> set[str]:
    """The workers of what has not begun."""
    return {row.worker for row in found.schedule.assignments if row.start >= 4.5}


def test_a_late_run_is_saved_with_dear_workers_only_as_far_as_it_may_cost() -> None:
    """Three of the rest on the dear worker cost 30; the two on the late one take it 2 s each."""
    free, rich, poor = (course("cheap", limit).correct(late("cheap")) for limit in (None, 60, 30))
    for found in (free, rich):
        assert (found.pays, found.end) == (True, pytest.approx(8.0, abs=0.1))
        assert "dear" in where(found)
        assert 30.0 < price(found) < 60.0
    assert not poor.pays
    assert where(poor) == {"cheap"}
    assert price(poor) == pytest.approx(poor.end), "1 for each second"
    assert [found.remark for found in (free, rich, poor)] == ["", "", ""]


def test_a_plan_that_has_become_too_dear_goes_where_it_is_cheap() -> None:
    """As planned it would cost 10 for each of 14 s; 40 are spent, a task runs there for 2 s."""
    as_planned = course("dear", None).correct(late("dear", sent=6))
    limited = course("dear", 65.0)
    found = limited.correct(late("dear", sent=6))
    assert as_planned.end < found.end
    assert found.pays
    assert where(found) == {"cheap"}
    assert price(found) < 65.0 < price(as_planned)
    assert found.remark == ""


def test_what_must_cost_more_costs_the_least_and_says_so_once() -> None:
    """The 40 that are spent are more than the 25 that the run may cost."""
    limited = course("dear", 25.0)
    found = limited.correct(late("dear", sent=6))
    assert found.pays
    assert where(found) == {"cheap"}
    assert found.remark == (
        f"it costs {price(found):.3g} in all, more than the 25 that it may: what is left costs "
        "more than was believed, and no way was found to do it for less"
    )
    limited.follow(found.schedule)
    assert limited.correct(late("dear", sent=6)).remark == ""


@pytest.mark.parametrize("objective", ["makespan", "price", "price,makespan"])
def test_a_lost_worker_leaves_only_the_dear_one(objective: str) -> None:
    limited = course("cheap", 20.0, objective)
    sight = Sight(
        now=1.0,
        cluster=Cluster.from_matrices([DEAR]),
        finished={"t0": Execution("cheap", 0.0, 1.0)},
    )
    found = limited.correct(sight)
    assert found.pays, "it has to go on"
    assert {row.worker for row in found.schedule.assignments if row.task != "t0"} == {"dear"}
    assert "it costs 51 in all, more than the 20 that it may" in found.remark


def test_the_limit_goes_with_the_plan_to_where_it_is_mended() -> None:
    builder = TaskGraph.build()
    for i in range(8):
        builder.task(f"t{i}", kind="t", seconds=1.0)
    orchestrator = Orchestrator(MemoryStore(), budget=Budget(seconds=0.2), max_price=8.0)
    plan = LivePlan.of(orchestrator.advise(builder.done(), MACHINES, "flow"))
    assert plan is not None
    arrived = LivePlan.from_json(plan.to_json())
    assert arrived.max_price == 8.0
    assert arrived.course(()).max_price == 8.0
