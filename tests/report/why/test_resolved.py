"""What `why` says another worker costs is what planning the run again with the task there costs."""

from __future__ import annotations

import numpy as np
import pytest

import orchestrator_core as oc
from orchestrator_core import Budget, Instance
from orchestrator_core.learn.estimator import fit
from orchestrator_core.plan.result import PlanStatus
from orchestrator_core.report.priced import RunPrices
from orchestrator_core.report.why import why
from orchestrator_core.report.why.cost import forced
from tests.random_instances import random_instance
from tests.report.recorded import run_as_planned

ENOUGH = Budget(seconds=20.0)


def solved(instance: Instance) -> float:
    """The makespan of a plan made from nothing, by every planner, that is proven optimal."""
    result = oc.plan(instance, ENOUGH)
    assert result.status is PlanStatus.OPTIMAL
    return result.makespan


def check(seed: int) -> None:
    """All options of one task of a run of a random instance, forwards and backwards."""
    rng = np.random.default_rng(seed)
    number, workers = int(rng.integers(3, 6)), int(rng.integers(2, 4))
    recorded = random_instance(
        rng, number, workers, eligible=bool(seed % 2), threads=bool(seed // 2 % 2)
    )
    run = run_as_planned(recorded, oc.plan(recorded, Budget(iterations=20), ["heft"]).schedule)
    instance = RunPrices.of(run, fit(())).instance
    name = run.graph.names[int(rng.integers(number))]
    answer = why(run, name, instance)
    assert answer.planned is not None
    assert answer.options is not None
    task, best = run.graph.index[name], solved(instance)
    assert answer.options.best == pytest.approx(best, abs=1e-6)
    costs = {}
    for place, worker in enumerate(run.cluster.workers):
        there = None if worker.name == answer.planned.worker else forced(instance, task, place)
        if there is not None:
            costs[worker.name] = solved(there) - best
    told = {option.worker: option for option in answer.options.options}
    for worker, option in told.items():
        assert option.cost is not None
        assert option.cost.exact
        assert option.cost.seconds == pytest.approx(costs[worker], abs=1e-6)
    alike = sum(option.alike for option in told.values())
    assert len(told) + alike == len(costs), "no worker is left out"
    runner_up = answer.options.runner_up
    if costs:
        assert runner_up is not None
        assert runner_up.cost is not None
        assert runner_up.cost.seconds == pytest.approx(min(costs.values()), abs=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_the_cost_of_each_worker_is_that_of_a_new_plan(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 100))
def test_the_cost_of_each_worker_is_that_of_a_new_plan_in_a_hundred_runs(seed: int) -> None:
    check(seed)
