"""How hot the annealing on lanes begins: hotter where a task that leaves its data pays for it."""

from __future__ import annotations

import math

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster, Link, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.search.lane_heat import heats, transfer_share

COLDEST = 0.02 / math.sqrt(20)


def two_tasks(transfer: float, workers: int = 2) -> Instance:
    """10 s each, one after the other; `transfer` seconds between two workers."""
    g = TaskGraph.build()
    g.task("a", seconds=10, output_bytes=100 * transfer)
    g.task("b", seconds=10, after=["a"])
    names = [Worker(f"w{k}") for k in range(workers)]
    return Instance.price(g.done(), Cluster(names, Link(latency=0.0, bandwidth=100.0)))


@pytest.mark.parametrize(("seconds", "share"), [(0.0, 0.0), (1.0, 0.1), (50.0, 5.0)])
def test_a_share_is_a_mean_transfer_in_mean_durations(seconds: float, share: float) -> None:
    assert transfer_share(expand(two_tasks(seconds))) == pytest.approx(share)


def test_with_one_worker_nothing_is_sent() -> None:
    assert transfer_share(expand(two_tasks(50.0, workers=1))) == 0.0


@pytest.mark.parametrize(("seconds", "factor"), [(10.0, 2.0), (20.0, 4.0), (1e6, 10.0)])
def test_long_transfers_are_passed_by_twice_their_share_at_most_ten_times(
    seconds: float, factor: float
) -> None:
    assert heats(expand(two_tasks(seconds))) == pytest.approx((factor * COLDEST, COLDEST))


@pytest.mark.parametrize("seconds", [0.0, 1.0, 5.0])
def test_where_transfers_are_short_one_heat_is_enough(seconds: float) -> None:
    assert heats(expand(two_tasks(seconds))) == pytest.approx((COLDEST,))
