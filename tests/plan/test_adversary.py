"""An adversary does not find a small instance on which plan() is far from the optimum."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.decoder import Decoded, decode
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.time_indexed import optimal_makespan
from tests.plan.adversary import changed, drawn, search
from tests.plan.exhaustive import smallest_makespan

LISTS = [planner.name for planner in LIST_PLANNERS]


def ours(instance: Instance) -> float:
    return plan(instance, Budget(iterations=1_000), [*LISTS, "local-search", "cpsat"]).makespan


def quickly(instance: Instance) -> float:
    return plan(instance, Budget(iterations=100), [*LISTS, "local-search"]).makespan


def best_list(instance: Instance, known: float) -> float:
    """The shortest of what any list heuristic decides."""
    problem = expand(instance)
    ends = [
        float(found.end.max())
        for planner in LIST_PLANNERS
        for choice in planner.choices(problem)
        if isinstance(found := decode(problem, choice), Decoded)
    ]
    return min(ends)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_exhaustive_search_agrees_with_the_oracle(seed: int) -> None:
    small = drawn(np.random.default_rng(seed), 5, 2)
    expected = optimal_makespan(small.instance(), 1.0).makespan
    assert smallest_makespan(small.instance(), known=1000.0) == expected


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_plans_are_within_10_percent_of_the_optimum(seed: int) -> None:
    worst = search(ours, smallest_makespan, tasks=6, workers=3, tries=15, seed=seed)
    assert worst.ratio <= 1.1, worst


@pytest.mark.parametrize("seed", [1, 2])
def test_plans_are_never_worse_than_a_list(seed: int) -> None:
    worst = search(quickly, best_list, tasks=10, workers=4, tries=25, seed=seed)
    assert worst.ratio <= 1.0, worst


def test_a_change_is_a_small_one() -> None:
    rng = np.random.default_rng(0)
    small = drawn(rng, 6, 3, related=True)
    for _ in range(30):
        other = changed(rng, small, related=True)
        changes = [
            int((getattr(small, part) != getattr(other, part)).any(axis=1).sum())
            for part in ("seconds", "nbytes", "links")
        ]
        assert sum(count > 0 for count in changes) <= 1
        assert np.linalg.matrix_rank(other.seconds) == 1
        small = other
