"""Criteria that are 0 for all schedules of an instance."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives.constant import varying
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.result import PlanStatus

ALL = Objective.of("tardiness,price,busy-price,memory,makespan")
STEPS = Budget(seconds=5.0, iterations=200)


def instance(
    price: float = 0.0, size: float = 0.0, memory: float = 0.0, **dates: float
) -> Instance:
    """Three chains of two tasks on two workers."""
    graph = TaskGraph.from_columns(
        [f"t{i}" for i in range(6)],
        producer=[0, 1, 2],
        consumer=[3, 4, 5],
        output_bytes=[size] * 6,
        memory=[memory] * 6,
        **{name: [value] * 6 for name, value in dates.items()},
    )
    cluster = Cluster([Worker(f"w{i}", price=price) for i in range(2)])
    seconds = np.array([[3.0, 4.0], [2.0, 5.0], [4.0, 4.0], [1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])
    return Instance(graph, cluster, seconds)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, "makespan"),
        ({"due": 4.0}, "tardiness,makespan"),
        ({"due": 4.0, "weight": 0.0}, "makespan"),
        ({"price": 1.0}, "price,busy-price,makespan"),
        ({"size": 1.0}, "memory,makespan"),
        ({"memory": 1.0}, "memory,makespan"),
        ({"deadline": 40.0}, "makespan"),
    ],
)
def test_what_cannot_differ_is_not_searched_for(given: dict[str, float], kept: str) -> None:
    assert varying(instance(**given), ALL) == Objective.of(kept)


def test_where_nothing_varies_all_is_kept() -> None:
    objective = Objective.of("tardiness,memory")
    assert varying(instance(), objective) == objective
    assert plan(instance(), STEPS, objective=objective).status is PlanStatus.OPTIMAL


@pytest.mark.parametrize("objective", ["tardiness,makespan", "makespan,tardiness", str(ALL)])
def test_the_shortest_plan_is_proven_beside_what_is_always_0(objective: str) -> None:
    alone = plan(instance(), STEPS)
    result = plan(instance(), STEPS, objective=objective)
    assert alone.status is result.status is PlanStatus.OPTIMAL
    assert result.settled
    assert result.objective == objective
    assert result.values == evaluate(instance(), result.schedule, objective)
    assert result.makespan == alone.makespan == 7.0, "13 s of work at least, for two workers"
    first = objective.split(",")[0]
    assert result.lower_bound == (7.0 if first == "makespan" else 0.0)
    assert (result.certificate is None) == (first != "makespan")


def test_what_is_not_proven_is_not_said_to_be() -> None:
    """One step of a search, where the best is hard to find."""
    dice = np.random.default_rng(5)
    seconds = dice.integers(5, 50, (40, 4)).astype(float)
    edges = [(i, j, 0.0) for j in range(8, 40) for i in dice.integers(0, j, 2)]
    hard = Instance.from_arrays(seconds, sorted(set(edges)))
    result = plan(hard, Budget(seconds=5.0, iterations=1), objective="tardiness,makespan")
    assert result.status is PlanStatus.FEASIBLE
    assert not result.settled
    assert (result.value, result.lower_bound, result.gap) == (0.0, 0.0, 0.0)


def test_who_names_planners_is_answered_by_these() -> None:
    """And what they cannot take is said as they say it."""
    with pytest.raises(UnsupportedInstance, match="there is no due date to order by"):
        plan(instance(), STEPS, planners=["tardiness-lists"], objective="tardiness,makespan")


def test_a_hint_is_taken() -> None:
    best = plan(instance(), STEPS).schedule
    result = plan(instance(), STEPS, hint=best, objective="price,makespan")
    assert result.makespan == best.makespan
    assert result.values == (0.0, best.makespan)
