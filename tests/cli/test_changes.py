"""What people type after --add, --remove, --faster and --memory."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from orchestrator_core.cli.changes import Typed, change_of
from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.cluster import Cluster, Worker
from tests.cli.conftest import a_run

RUN = a_run()
"""Workers w0 (fast, speed 2) and w1 (slow); tasks of kinds kind-load and kind-fit."""


def test_a_known_kind_joins_as_it_is() -> None:
    first, second = change_of(Typed(add=("fast:2",)), RUN).add
    assert (first.name, second.name) == ("new-fast-1", "new-fast-2")
    assert {(w.kind, w.speed) for w in (first, second)} == {("fast", 2.0)}


@pytest.mark.parametrize(("typed", "count"), [("w0", 1), ("w0:2", 2), ("w0:2:threads=1", 2)])
def test_another_one_like_a_worker_joins(typed: str, count: int) -> None:
    """Reports show workers by their names, and those can be removed."""
    added = change_of(Typed(add=(typed,)), RUN).add
    assert [(w.name, w.kind, w.speed) for w in added] == [
        (f"new-fast-{n}", "fast", 2.0) for n in range(1, count + 1)
    ]


def test_the_name_of_a_worker_may_end_with_a_port() -> None:
    at_port = replace(RUN.cluster.workers[0], name="tcp://10.0.0.1:4023")
    run = replace(RUN, cluster=Cluster([at_port, RUN.cluster.workers[1]]))
    (worker,) = change_of(Typed(add=("tcp://10.0.0.1:4023",)), run).add
    assert (worker.kind, worker.speed) == ("fast", 2.0)


def test_what_is_said_of_a_known_kind_counts_more() -> None:
    (worker,) = change_of(Typed(add=("fast:threads=4,GPU=1",)), RUN).add
    assert (worker.speed, worker.threads, worker.resources["GPU"]) == (2.0, 4, 1)


def test_a_kind_of_another_cluster_is_known() -> None:
    other = Cluster([Worker("g", kind="gpu", speed=7, threads=3)])
    (worker,) = change_of(Typed(add=("gpu:1",)), RUN, [other]).add
    assert (worker.kind, worker.speed, worker.threads) == ("gpu", 7, 3)


def test_an_unknown_kind_needs_a_speed_only() -> None:
    (worker,) = change_of(Typed(add=("gpu:1:speed=4",)), RUN).add
    assert (worker.kind, worker.speed, worker.name) == ("gpu", 4.0, "new-gpu-1")


def test_kinds_may_hold_colons() -> None:
    run = a_run()
    other = Cluster([Worker("g", kind="a:b", speed=7)])
    assert len(change_of(Typed(add=("a:b:3",)), run, [other]).add) == 3


def test_workers_go_by_name_or_by_number() -> None:
    assert change_of(Typed(remove=("w0",)), RUN).remove == ("w0",)
    assert change_of(Typed(remove=("slow:1",)), RUN).remove == ("w1",)


@pytest.mark.parametrize("typed", ["kind-fit=2x", "kind-fit=2", "kind-fit=2×"])
def test_a_kind_of_tasks_is_faster(typed: str) -> None:
    assert change_of(Typed(faster=(typed,)), RUN).faster == {"kind-fit": 2.0}


def test_factors_of_one_kind_multiply() -> None:
    assert change_of(Typed(faster=("kind-fit=2x", "kind-fit=3x")), RUN).faster == {"kind-fit": 6.0}


def test_memory_is_a_factor() -> None:
    assert change_of(Typed(memory="1.5x"), RUN).memory == 1.5


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (
            Typed(add=("gpu:1",)),
            "no worker of kind 'gpu' is known: KIND must be one of fast, slow, "
            "or say its speed: --add gpu:1:speed=4",
        ),
        (Typed(add=("gpu:0:speed=4",)), "the count is 0; expected 1 to 1000"),
        (Typed(add=("fast:speed=4,count=3",)), "say how many as fast:COUNT"),
        (Typed(add=("fast:sped=4",)), "did you mean 'speed'?"),
        (Typed(add=("",)), "expected KIND:COUNT"),
        (Typed(add=("fast:999", "slow:9")), "at most 1000 can be added"),
        (Typed(remove=("w3",)), "there is no worker 'w3'; near it: '"),
        (Typed(remove=("slow:2",)), "there are 1 workers of kind 'slow'"),
        (Typed(remove=("w0", "fast:1")), "there are 0 workers of kind 'fast'"),
        (Typed(faster=("fit",)), "expected KIND=FACTOR, such as train=2x"),
        (Typed(faster=("fitt=2x",)), "is of kind 'fitt'; there are kind-fit"),
        (Typed(faster=("kind-fit=0",)), "expected a factor > 0"),
        (
            Typed(faster=("kind-fit=fast",)),
            "--faster kind-fit=fast: expected a factor > 0, such as 2x",
        ),
        (Typed(memory="lots"), "--memory=lots: expected a factor > 0, such as 2x"),
    ],
)
def test_what_cannot_be_is_named_with_what_can(typed: Typed, message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        change_of(typed, RUN)
