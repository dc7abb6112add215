"""Heads, tails and possible workers: values by hand."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Task, TaskGraph, Worker
from orchestrator_core.plan.bounds import rederive
from orchestrator_core.plan.bounds.rederive import cut_in_time, delays, derive
from orchestrator_core.plan.bounds.relaxation import Relaxation, Side
from orchestrator_core.plan.bounds.state import State, initial, propagate, tightened
from orchestrator_core.plan.engine.compiled import interpreting
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.planner import Brief
from tests.plan.tiny import tiny_instances


def known(instance: Instance, upper: float = np.inf) -> State:
    state = propagate(expand(instance), upper)
    assert state is not None
    return state


def test_a_join_waits_for_what_must_be_made_beside_it() -> None:
    """Three tasks of 2 s feed a fourth; sending takes 9 s. All three beside it: at 6 s."""
    instance = Instance.from_arrays(np.full((4, 2), 2.0), [(i, 3, 0) for i in range(3)], latency=9)
    assert known(instance).head[3] == pytest.approx([6.0, 6.0])


def test_a_fork_is_a_join_backward() -> None:
    instance = Instance.from_arrays(
        np.full((4, 2), 2.0), [(0, i, 0) for i in range(1, 4)], latency=9
    )
    assert known(instance).tail[0] == pytest.approx([6.0, 6.0])


def test_a_producer_that_cannot_be_here_sends_its_bytes() -> None:
    """a runs on w0 only, in 1 s; 3 bytes at 1 byte/s and 1 s of latency."""
    instance = Instance.from_arrays(
        [[1.0, np.inf], [1.0, 1.0]], [(0, 1, 3.0)], latency=1.0, seconds_per_byte=1.0
    )
    assert known(instance).head[1] == pytest.approx([1.0, 5.0])


def test_what_is_too_slow_is_excluded() -> None:
    """3 s on w1 is no part of a schedule below 3 s."""
    state = known(Instance.from_arrays([[2.0, 3.0]], []), 3.0)
    assert state.may.tolist() == [[True, False]]


def test_no_schedule_is_shorter_than_the_optimum() -> None:
    assert propagate(expand(Instance.from_arrays([[2.0, 3.0]], [])), 2.0) is None


def test_tasks_that_cannot_be_apart_share_a_worker_and_its_time() -> None:
    """A chain of three tasks of 1 s and a link of 9 s: below 9 s all three share a worker."""
    instance = Instance.from_arrays(np.ones((3, 2)), [(0, 1, 0), (1, 2, 0)], latency=9)
    assert len(np.unique(known(instance, 9.0).together)) == 1


def test_threads_are_shared_by_what_is_made_here() -> None:
    """Two tasks of one thread fit beside each other on a worker with two: the join starts at 2 s,
    three need 3 s of work on two threads."""
    edges = [(i, 3, 0) for i in range(3)]
    instance = Instance.from_arrays(np.full((4, 1), 2.0), edges, threads=2)
    assert known(instance).head[3] == pytest.approx([3.0])


def test_releases_count() -> None:
    graph = TaskGraph.from_tasks([Task("a", seconds=1, release=4.0)])
    state = known(Instance.price(graph, Cluster([Worker("w0")])))
    assert state.head[0] == pytest.approx([4.0])


def test_edges_are_checked_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """To check the certificate of a plan of 400 tasks and 24,000 edges on 64 workers took 1.5 GB,
    all edges with all pairs of workers. Some at a time say the same."""
    edges = [(a, b, 1.0) for b in range(9) for a in range(b)]
    seconds = np.random.default_rng(0).uniform(1.0, 9.0, (9, 3))
    instance = Instance.from_arrays(seconds, edges, latency=1.0, seconds_per_byte=1.0)
    relaxation, state = Relaxation.of(expand(instance)), known(instance)
    every = np.arange(len(edges))
    tables: list[int] = []

    def noted(side: Side, edges: np.ndarray) -> np.ndarray:
        tables.append(len(edges))
        return delays(side, edges)

    monkeypatch.setattr(rederive, "delays", noted)
    at_once = cut_in_time(relaxation, state, 30.0, every)
    monkeypatch.setattr(rederive, "CELLS", 7 * 3**2)
    assert np.array_equal(cut_in_time(relaxation, state, 30.0, every), at_once)
    assert set(at_once.tolist()) == {False, True}
    assert tables == [36, 7, 7, 7, 7, 7, 1]


class Looks:
    """A matrix that counts how often it is looked into."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix, self.many = matrix, 0

    def __getitem__(self, place: tuple[int, int]) -> float:
        self.many += 1
        return float(self.matrix[place])


def test_where_links_are_alike_an_edge_asks_few_workers_for_its_bytes() -> None:
    """Each of 12 tasks needs all before it. Once the worker that ends a task first is known, no
    other one can be sooner over links that are no faster: one look for each edge and worker, or two
    where it is the worker itself. With all pairs of workers looked at, edges x workers^2, a graph
    of 24,000 edges on 64 workers took 2.6 s, more than a plan has."""
    n, w = 12, 9
    edges = [(a, b, 1.0) for b in range(n) for a in range(b)]
    seconds = np.random.default_rng(0).uniform(1.0, 9.0, (n, w))
    instance = Instance.from_arrays(seconds, edges, latency=1.0, seconds_per_byte=1.0)
    relaxation = Relaxation.of(expand(instance))
    looks = Looks(relaxation.forward.latency)
    counted = relaxation._replace(forward=relaxation.forward._replace(latency=looks))
    with interpreting():
        found = tightened(counted, initial(counted, np.inf))
    assert looks.many <= 2 * len(edges) * w
    assert found is not None
    assert np.array_equal(found.head, known(instance).head)


def test_the_checkers_derivation_is_the_compiled_one() -> None:
    met = 0
    for seed, instance in tiny_instances(range(60)):
        relaxation = Relaxation.of(expand(instance))
        schedule = next(LIST_PLANNERS[0].plan(Brief(instance))).schedule
        for part in (1.5, 1.0, 0.8):
            upper = np.inf if schedule is None else schedule.makespan * part
            if upper <= 0:
                continue
            fast = tightened(relaxation, initial(relaxation, upper))
            slow = initial(relaxation, upper)
            assert derive(relaxation, slow) == (fast is not None), f"seed {seed}"
            if fast is not None:
                met += 1
                assert (fast.may == slow.may).all(), f"seed {seed}"
                for a, b in ((fast.head, slow.head), (fast.tail, slow.tail)):
                    assert a[fast.may] == pytest.approx(b[fast.may]), f"seed {seed}"
    assert met > 40
