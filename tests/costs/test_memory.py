"""Learned memory is planned with where it may be scarce, and never makes a graph impossible."""

from __future__ import annotations

import math

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.costs.memory import with_memory
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph

GB = 2.0**30


def graph(**stated: float) -> TaskGraph:
    """Four tasks of a second, each with an output of a GB, and one that reads them all."""
    builder = TaskGraph.build()
    for i in range(4):
        builder.task(f"t{i}", kind="t", seconds=1.0, output_bytes=GB, memory=stated.get(f"t{i}", 0))
    builder.task("all", kind="all", seconds=1.0)
    for i in range(4):
        builder.edge(f"t{i}", "all")
    return builder.done()


def cluster(memory: float, threads: int = 2) -> Cluster:
    return Cluster([Worker("a", memory=memory, threads=threads), Worker("b", memory=8 * GB)])


def believed(each: float, last: float = math.nan) -> np.ndarray:
    return np.array([each] * 4 + [last])


def test_scarce_memory_is_planned_with() -> None:
    sized = with_memory(graph(), cluster(8 * GB), believed(3 * GB))
    assert sized.mode_memory[:4] == pytest.approx([2**1.5 * GB] * 4), "to half doublings"
    assert sized.mode_memory[4] == 0.0
    assert np.isfinite(Instance.price(sized, cluster(8 * GB)).seconds).all()


def test_memory_that_cannot_be_scarce_is_left_out() -> None:
    known = graph()
    assert with_memory(known, cluster(8 * GB), believed(GB)) is known
    assert with_memory(known, cluster(math.inf), believed(100 * GB)).mode_memory.any()
    free = Cluster([Worker("a"), Worker("b", threads=8)])
    assert with_memory(known, free, believed(1e15)) is known


def test_nothing_known_or_next_to_nothing_changes_nothing() -> None:
    known = graph()
    assert with_memory(known, cluster(5 * GB), believed(math.nan)) is known
    assert with_memory(known, cluster(5 * GB), believed(1000.0)) is known


def test_small_changes_of_belief_change_nothing() -> None:
    one = with_memory(graph(), cluster(5 * GB), believed(GB))
    other = with_memory(graph(), cluster(5 * GB), believed(1.1 * GB))
    assert one.mode_memory.any()
    assert one == other


def test_what_a_graph_states_is_not_doubted() -> None:
    sized = with_memory(graph(t1=0.5 * GB), cluster(5 * GB), believed(2 * GB))
    assert sized.mode_memory.tolist()[:3] == [2 * GB, 0.5 * GB, 2 * GB]


def test_a_belief_that_fits_nowhere_is_dropped_for_that_task_alone() -> None:
    sized = with_memory(graph(), cluster(8 * GB), believed(2 * GB, last=6 * GB))
    assert sized.mode_memory.tolist() == [2 * GB] * 4 + [0.0]
    Instance.price(sized, cluster(8 * GB))
    assert not with_memory(graph(), cluster(8 * GB), believed(100 * GB)).mode_memory.any()


def test_a_task_may_lose_some_workers_but_not_all() -> None:
    sized = with_memory(graph(), cluster(4 * GB), believed(5 * GB))
    seconds = Instance.price(sized, cluster(4 * GB)).seconds
    assert np.isinf(seconds[:4, 0]).all()
    assert np.isfinite(seconds[:4, 1]).all()
