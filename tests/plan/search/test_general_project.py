"""The genetic algorithm takes as many individuals as its budget is good for."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.objective import MAKESPAN
from orchestrator_core.plan.search.general_project import LEAST, MOST, ProjectEngine


def individuals(budget: Budget, tasks: int = 60) -> int:
    """How many a filled population has."""
    seconds = np.random.default_rng(0).uniform(1, 10, (tasks, 1))
    engine = ProjectEngine(Instance.from_arrays(seconds, []), MAKESPAN, budget)
    engine.go(1, -np.inf)
    engine.go(MOST + 100, -np.inf)
    return int(engine._z.state[0])


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (Budget(seconds=0.01), LEAST),
        (Budget(seconds=0.5), 125),
        (Budget(seconds=60), MOST),
        (Budget(seconds=60, iterations=100), LEAST),
        (Budget(seconds=0.01, iterations=16_000), 200),
    ],
)
def test_population_grows_with_the_budget(budget: Budget, expected: int) -> None:
    assert individuals(budget) == expected


def test_larger_graphs_have_fewer_in_the_same_time() -> None:
    assert individuals(Budget(seconds=1), 30) > individuals(Budget(seconds=1), 120)
