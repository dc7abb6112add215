"""plan(): how the answer may change when the question does.

Where a relation holds for optima alone, the instances are so small that the optimum is proven.
"""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Edge, Link, Task, TaskGraph, Worker
from orchestrator_core.plan import PlanStatus
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.schedule import Schedule

PLANNERS = [*(planner.name for planner in LIST_PLANNERS), "local-search"]
"""Those that need no helper process."""

SEEDS = range(5)
Edges = list[tuple[int, int, float]]


def drawn(seed: int, tasks: int = 6, workers: int = 3) -> tuple[np.ndarray, Edges, np.ndarray]:
    """Durations (tasks, workers), edges with bytes, seconds per byte (workers, workers)."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(1, 10, (tasks, workers)).astype(float)
    edges = [
        (a, b, float(rng.integers(0, 6)))
        for b in range(1, tasks)
        for a in range(b)
        if rng.random() < 0.4
    ]
    links = rng.integers(1, 4, (workers, workers)).astype(float)
    links += links.T
    np.fill_diagonal(links, 0.0)
    return seconds, edges, links


def planned(instance: Instance, iterations: int = 1_000) -> Schedule:
    schedule = plan(instance, Budget(iterations=iterations), PLANNERS).schedule
    check_schedule(instance, schedule)
    return schedule


def optimum(instance: Instance) -> float:
    """The proven smallest makespan, in seconds."""
    result = plan(instance, Budget(iterations=1_000), [*PLANNERS, "cpsat"])
    check_schedule(instance, result.schedule)
    assert result.status is PlanStatus.OPTIMAL
    return result.makespan


def of(seconds: np.ndarray, edges: Edges, links: np.ndarray, **names: list[str]) -> Instance:
    return Instance.from_arrays(seconds, edges, seconds_per_byte=links, **names)


@pytest.mark.parametrize("seed", SEEDS)
def test_names_do_not_matter(seed: int) -> None:
    seconds, edges, links = drawn(seed)
    tasks = [f"{'zyxwvu'[i]} {i}" for i in range(6)]
    renamed = of(seconds, edges, links, task_names=tasks, worker_names=["z", "m", "a"])
    assert planned(renamed).makespan == planned(of(seconds, edges, links)).makespan


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_tasks_and_workers_does_not_matter(seed: int) -> None:
    seconds, edges, links = drawn(seed)
    turned = [(5 - a, 5 - b, nbytes) for a, b, nbytes in edges]
    other = of(seconds[::-1, ::-1], turned, links[::-1, ::-1])
    assert optimum(other) == pytest.approx(optimum(of(seconds, edges, links)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("factor", [2.0**-20, 4.0, 2.0**20])
def test_time_may_be_in_another_unit(seed: int, factor: float) -> None:
    seconds, edges, links = drawn(seed)
    scaled = planned(of(factor * seconds, edges, factor * links)).makespan
    assert scaled == pytest.approx(factor * planned(of(seconds, edges, links)).makespan, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_may_be_in_another_unit(seed: int) -> None:
    seconds, edges, links = drawn(seed)
    large = [(a, b, 1024 * nbytes) for a, b, nbytes in edges]
    there = planned(of(seconds, large, links / 1024)).makespan
    assert there == planned(of(seconds, edges, links)).makespan


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("slow", [1e3, np.inf])
def test_a_useless_worker_does_no_harm(seed: int, slow: float) -> None:
    """One on which every task takes longer than the whole plan, or may not run at all."""
    seconds, edges, links = drawn(seed)
    more = np.column_stack([seconds, np.full(6, slow)])
    wider = np.full((4, 4), 2.0)
    wider[:3, :3], wider[3, 3] = links, 0.0
    assert optimum(of(more, edges, wider)) == pytest.approx(optimum(of(seconds, edges, links)))


@pytest.mark.parametrize("seed", SEEDS)
def test_more_steps_are_never_worse(seed: int) -> None:
    instance = of(*drawn(seed, tasks=30, workers=4))
    makespans = [planned(instance, iterations).makespan for iterations in (0, 30, 300, 3_000)]
    assert makespans == sorted(makespans, reverse=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_task_less_is_never_worse(seed: int) -> None:
    """The last task has no consumers."""
    seconds, edges, links = drawn(seed)
    fewer = of(seconds[:-1], [edge for edge in edges if edge[1] < 5], links)
    assert optimum(fewer) <= optimum(of(seconds, edges, links)) * (1 + 1e-9)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_count_is_as_many_single_tasks(count: int) -> None:
    """A task feeds `count` instances, all of which feed a last one."""
    cluster = Cluster([Worker("w0"), Worker("w1", speed=2.0)], link=Link(latency=1.0, bandwidth=2))
    ends = [Task("first", seconds=2.0, output_bytes=4), Task("last", seconds=1.0)]
    part = {"seconds": 3.0, "output_bytes": 2.0}
    counted = TaskGraph.from_tasks(
        [*ends, Task("part", count=count, **part)],
        [Edge("first", "part", 4.0), Edge("part", "last", 2.0, multiplicity=count)],
    )
    names = [f"part{i}" for i in range(count)]
    single = TaskGraph.from_tasks(
        [*ends, *(Task(name, **part) for name in names)],
        [Edge("first", name, 4.0) for name in names] + [Edge(name, "last", 2.0) for name in names],
    )
    one, other = (planned(Instance.price(graph, cluster)) for graph in (counted, single))
    assert one.makespan == other.makespan
