"""The quick bound: values by hand, and near the linear program. That it holds: `test_bounds`."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Mode, Task, TaskGraph, Worker
from orchestrator_core.plan.bounds import lower_bound
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.compiled import interpreting
from orchestrator_core.plan.first_bound import quick_bound
from orchestrator_core.plan.portfolio import plan
from tests.plan.tiny import tiny_instances


def test_related_workers_share_work_by_speed() -> None:
    """Speeds 4, 2, 1, 1; 80 s of work at speed 1: 10 s."""
    seconds = np.outer(np.full(80, 1.0), [1 / 4, 1 / 2, 1, 1])
    assert quick_bound(Instance.from_arrays(seconds, [])).seconds == pytest.approx(10.0)


def test_windows_add_what_must_come_before_and_after() -> None:
    """A task of 5 s before, and one of 5 s after, eight tasks of 1 s on two workers: 5 + 4 + 5.
    The critical path is 11 s, the work of 18 s on two workers 9 s."""
    seconds = [[5.0] * 2] + [[1.0] * 2] * 8 + [[5.0] * 2]
    edges = [(0, i, 0) for i in range(1, 9)] + [(i, 9, 0) for i in range(1, 9)]
    assert quick_bound(Instance.from_arrays(seconds, edges)).seconds == pytest.approx(14.0)


def test_prices_rise_where_too_much_is_cheapest() -> None:
    """Two kinds of tasks take 1 s on their own worker and 3 s on the other. Six of each: 6 s. Ten
    and two: the first worker does x of the ten, the second the others and its own two, both for
    as long: x = 3 (10 - x) + 2, so 8 s."""
    even = [[1.0, 3.0]] * 6 + [[3.0, 1.0]] * 6
    assert quick_bound(Instance.from_arrays(even, [])).seconds == pytest.approx(6.0)
    uneven = Instance.from_arrays([[1.0, 3.0]] * 10 + [[3.0, 1.0]] * 2, [])
    assert lower_bound(uneven).seconds == pytest.approx(8.0)
    assert quick_bound(uneven).seconds == pytest.approx(8.0, rel=0.02)


def test_wide_tasks_count_all_their_threads() -> None:
    wide = Instance.from_arrays(np.ones((4, 1)), [], threads=4, task_threads=2)
    assert quick_bound(wide).seconds == pytest.approx(2.0)


def test_a_scarce_resource_is_shared_like_threads() -> None:
    """Two of four workers have a GPU. Eight tasks of 3 s need one, and take two threads of eight:
    12 s, though the threads would be done with all in 2 s."""
    graph = TaskGraph.from_tasks(
        [Task(f"t{i}", seconds=3.0, threads=2, resources={"GPU": 1}) for i in range(8)]
        + [Task(f"u{i}", seconds=1.0) for i in range(4)]
    )
    workers = [Worker(f"w{b}", threads=8, resources={"GPU": int(b < 2)}) for b in range(4)]
    assert quick_bound(Instance.price(graph, Cluster(workers))).seconds == pytest.approx(12.0)


def test_a_mode_without_the_resource_may_be_taken_for_it() -> None:
    """Four tasks take 2 s on the only GPU, or 5 s without: on two workers nobody waits for it."""
    modes = (Mode("gpu", seconds=2.0, resources={"GPU": 1}), Mode("cpu", seconds=5.0))
    graph = TaskGraph.from_tasks([Task(f"t{i}", modes=modes) for i in range(4)])
    workers = [Worker("w0", threads=4, resources={"GPU": 1}), Worker("w1", threads=4)]
    instance = Instance.price(graph, Cluster(workers))
    assert quick_bound(instance).seconds <= plan(instance, Budget(seconds=1.0)).makespan


def test_workers_that_are_alike_share_what_is_cheapest_on_them() -> None:
    """Twelve tasks of 1 s may run on the first two workers, three on the other four: 6 s. If the
    first of those that are alike were taken to get all of it, its price alone would rise, and no
    more than 4 s be proven."""
    few, many = [1.0] * 2 + [np.inf] * 4, [np.inf] * 2 + [1.0] * 4
    instance = Instance.from_arrays([few] * 12 + [many] * 3, [])
    assert 5.0 < quick_bound(instance).seconds <= 6.0


def test_interpreted_it_is_the_same() -> None:
    for _, instance in tiny_instances(range(20)):
        with interpreting():
            interpreted = quick_bound(instance)
        assert interpreted.seconds == pytest.approx(quick_bound(instance).seconds)


def test_it_is_near_the_linear_program() -> None:
    """Random layered graphs on related workers, without transfers: within 2 % in the mean."""
    ratios = []
    for seed in range(12):
        dice = np.random.default_rng(seed)
        work = dice.lognormal(0.0, 0.6, 60)
        edges = [(a, b, 0) for b in range(15, 60) for a in dice.choice(range(b - 15, b), 2, False)]
        instance = Instance.from_arrays(np.outer(work, 1 / np.array([4.0, 2.0, 1.0, 1.0])), edges)
        ratios.append(quick_bound(instance).seconds / lower_bound(instance).seconds)
    assert max(ratios) <= 1.0 + 1e-6
    assert np.mean(ratios) > 0.98
