"""Clusters from the command line."""

from __future__ import annotations

import math

import pytest

from orchestrator_core.cli.workers import equal_workers, parse_workers, with_links
from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.cluster import Cluster, Link, Worker


def test_a_kind_alone_is_one_plain_worker() -> None:
    assert parse_workers(["fast"]) == [Worker("fast", kind="fast")]


def test_all_properties() -> None:
    (worker,) = parse_workers(["gpu:speed=2.5,threads=8,memory=64GB,price=3.1,GPU=2"])
    assert worker == Worker(
        "gpu", kind="gpu", threads=8, memory=64e9, resources={"GPU": 2}, speed=2.5, price=3.1
    )


def test_a_count_makes_numbered_workers_of_one_kind() -> None:
    workers = parse_workers(["fast:speed=4", "slow:count=3"])
    assert [worker.name for worker in workers] == ["fast", "slow-0", "slow-1", "slow-2"]
    assert [worker.kind for worker in workers] == ["fast", "slow", "slow", "slow"]


def test_a_mere_number_is_that_many_equal_workers() -> None:
    workers = parse_workers(["4"])
    assert workers == equal_workers(4)
    assert len({worker.name for worker in workers}) == 4
    assert {worker.kind for worker in workers} == {"worker"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not begin with a kind"),
        ("speed=4", "does not begin with a kind"),
        ("-3", "does not begin with a kind"),
        ("2.5", "does not begin with a kind"),
        ("2:speed=3", "does not begin with a kind"),
        ("fast:speed=2,speed=3", "'fast:speed=2,speed=3' says speed twice"),
        ("4x1,2x2", "does not begin with a kind"),
        ("fast:speed", "is not name=value"),
        ("fast:speed=", "is not name=value"),
        ("fast:spede=4", "did you mean 'speed'"),
        ("fast:Thread=4", "did you mean 'threads'"),
        ("fast:speed=quick", "is not a number"),
        ("fast:memory=lots", "is not a size"),
        ("fast:count=0", "count is '0'"),
        ("fast:count=1000000", "expected 1 to 10000"),
        ("fast:threads=1.5", "threads is '1.5'"),
        ("0", "count is '0'"),
        ("9" * 5000, "expected 1 to 10000"),
    ],
)
def test_a_slip_is_named_with_its_text(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_workers([text])


def test_links_change_only_what_was_asked() -> None:
    cluster = Cluster(equal_workers(2), Link(latency=0.5, bandwidth=10.0))
    faster = with_links(cluster, latency=None, bandwidth=100.0)
    assert faster.link("worker-0", "worker-1") == Link(0.5, 100.0, math.inf)
    nearer = with_links(cluster, latency=0.1, bandwidth=None)
    assert nearer.link("worker-1", "worker-0") == Link(0.1, 10.0, math.inf)
    assert with_links(cluster, None, None) is cluster


def test_nothing_goes_through_a_bandwidth_of_0() -> None:
    with pytest.raises(InvalidInput, match="bandwidth of 0"):
        with_links(Cluster(equal_workers(2)), None, 0.0)
