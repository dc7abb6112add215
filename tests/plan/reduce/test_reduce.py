"""Coarsening: no cycles, nothing lost, and a way back to the tasks."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core import Budget, Instance, check_schedule
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.reduce.coarse_search import CoarseSearch
from orchestrator_core.plan.reduce.coarsen import coarsen
from orchestrator_core.plan.reduce.contract import contracted
from tests.plan.asking import ask
from tests.strategies import random_instance


def pipelines(many: int, long: int, nbytes: float) -> Instance:
    """Chains side by side, a second for each task, on two equal workers."""
    edges = [(p * long + k, p * long + k + 1, nbytes) for p in range(many) for k in range(long - 1)]
    seconds = np.ones((many * long, 2))
    return Instance.from_arrays(seconds, edges, seconds_per_byte=1.0)


def test_a_chain_becomes_one_task():
    group, groups = coarsen(pipelines(1, 4, 1.0), few=1)
    assert groups == 1
    assert group.tolist() == [0, 0, 0, 0]


def test_what_talks_most_is_merged_first():
    """a -> b carries 1 byte, c -> d a hundred."""
    instance = Instance.from_arrays(np.ones((4, 2)), [(0, 1, 1.0), (2, 3, 100.0)])
    group, groups = coarsen(instance, few=3)
    assert groups == 3
    assert group[2] == group[3]
    assert group[0] != group[1]


def test_tasks_that_are_fast_on_different_workers_stay_apart():
    instance = Instance.from_arrays([[1.0, 9.0], [9.0, 1.0]], [(0, 1, 5.0)])
    assert coarsen(instance, few=1)[1] == 2


def test_tasks_without_a_common_worker_stay_apart():
    infinity = np.inf
    instance = Instance.from_arrays([[1.0, infinity], [infinity, 1.0]], [(0, 1, 5.0)])
    assert coarsen(instance, few=1)[1] == 2


def test_an_output_is_sent_to_a_group_once():
    """Both consumers are in one group: one transfer of the larger part."""
    edges = [(0, 1, 3.0), (0, 2, 7.0)]
    instance = Instance.from_arrays(np.ones((3, 2)), edges)
    coarse = contracted(instance, np.array([0, 1, 1]), 2)
    assert coarse is not None
    assert coarse.graph.nbytes.tolist() == [7.0]
    assert coarse.seconds.tolist() == [[1.0, 1.0], [2.0, 2.0]]


@pytest.mark.parametrize("seed", range(40))
def test_merging_never_makes_a_cycle_and_loses_no_work(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, 40, 3, eligible=seed % 2 == 0, release=True)
    group, groups = coarsen(instance, few=int(rng.integers(1, 30)))
    coarse = contracted(instance, group, groups)  # a graph with a cycle is refused
    assert coarse is not None
    assert len(coarse.graph) == groups
    where = np.isfinite(coarse.seconds)
    total = np.zeros_like(coarse.seconds)
    np.add.at(total, group, instance.seconds)
    np.testing.assert_allclose(coarse.seconds[where], total[where])


def test_the_way_back_keeps_pipelines_together():
    """Sending is dear, so that each pipeline belongs on one worker: four pipelines of 10 s on two
    workers take 20 s, which is the work of each."""
    instance = pipelines(4, 10, 50.0)
    planner = CoarseSearch(smallest=1, few=4)
    found = ask(planner, Brief(instance, Budget(iterations=2_000))).schedule
    assert found is not None
    check_schedule(instance, found)
    assert found.makespan == 20.0


def test_the_same_steps_give_the_same_bytes():
    instance = random_instance(np.random.default_rng(1), 60, 3)
    brief = Brief(instance, Budget(iterations=500))
    planner = CoarseSearch(smallest=1, few=15)
    first, again = (ask(planner, brief).schedule for _ in range(2))
    assert first is not None
    assert first == again


def test_small_graphs_are_left_to_the_search():
    assert "3000 tasks" in (CoarseSearch().unsupported(pipelines(1, 4, 1.0)) or "")
