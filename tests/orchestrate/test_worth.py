"""Is a plan for another objective worth following? On values that are known by hand."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Task, TaskGraph, Worker
from orchestrator_core.orchestrate import worth as module
from orchestrator_core.orchestrate.experience import Lessons
from orchestrator_core.orchestrate.worth import worth
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.schedule import Assignment, Schedule

PRICE = Objective.of("price")


def rented() -> Instance:
    """One task of an hour; a worker at 10 an hour and one at 12."""
    graph = TaskGraph.from_tasks([Task("task", seconds=3600.0)])
    cluster = Cluster([Worker("cheap", price=10.0), Worker("dear", price=12.0)])
    return Instance(graph, cluster, np.full((1, 2), 3600.0))


def on(worker: str) -> Schedule:
    return Schedule([Assignment("task", worker, 0.0, 3600.0)])


@pytest.mark.parametrize(
    ("chances", "mean", "adopted"),
    [
        (("cheap", "cheap", "cheap"), 10.0, False),
        (("cheap", "cheap", "dear"), 32 / 3, True),
        (("dear", "dear", "dear"), 12.0, True),
    ],
)
def test_dasks_own_policy_costs_the_mean_over_its_chances(
    monkeypatch: pytest.MonkeyPatch, chances: tuple[str, ...], mean: float, adopted: bool
) -> None:
    """Who is unlucky one time in three pays for it, though two times in three he does not."""

    def alone(instance: Instance, seed: int) -> Schedule:
        return on(chances[seed])

    monkeypatch.setattr(module, "simulate_default", alone)
    instance = rented()
    found = worth(instance, instance, on("cheap"), PRICE, 0.05)
    assert found.default == pytest.approx((mean,))
    assert found.planned == pytest.approx((10.0,))
    assert found.adopt is adopted
    assert f"price is 10 against {mean:.3g}" in found.reason


def test_what_dask_alone_takes_is_foretold_beside_the_price() -> None:
    """A run that is left to Dask takes what Dask takes, not what the plan for the price would."""
    instance = rented()
    found = worth(instance, instance, on("dear"), PRICE, 0.05)
    assert not found.adopt
    assert found.default_predicted == pytest.approx(3600.0)
    slow = Lessons(dask=[7200.0] * 9)
    learned = worth(instance, instance, on("dear"), PRICE, 0.05, slow).default_predicted
    assert 6000.0 < learned < 7200.0, "nine runs of two hours say more than a simulation"
