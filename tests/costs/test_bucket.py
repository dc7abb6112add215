"""Cost buckets: steady under small drift, moved by what changes the trade-offs."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs import Instance
from orchestrator_core.costs.bucket import cost_bucket
from orchestrator_core.graph import Cluster, TaskGraph, Worker
from tests.strategies import random_instance


def instance(
    work: float = 10.0,
    serial: float = 10.0,
    nbytes: float = 1e6,
    gpu_speed: float = 1.0,
    prefix: str = "",
) -> Instance:
    """A task of `serial` seconds, ten of `work` seconds after it, on two workers."""
    builder = TaskGraph.build()
    first = builder.task(f"{prefix}first", kind="first", seconds=serial, output_bytes=nbytes)
    for i in range(10):
        builder.task(f"{prefix}{i}", kind="work", seconds=work, output_bytes=5.0, after=[first])
    workers = [Worker(f"{prefix}cpu"), Worker(f"{prefix}gpu", speed=gpu_speed)]
    return Instance.price(builder.done(), Cluster(workers))


def test_the_figures_are_those_that_the_bucket_names() -> None:
    """110 s of work (1.25 ** 21.07), best = average, a path of 20 s in 110 s, 1e6 bytes."""
    assert cost_bucket(instance()) == "w21.f0.c-8.b62"


def test_names_do_not_matter() -> None:
    assert cost_bucket(instance(prefix="renamed ")) == cost_bucket(instance())


@pytest.mark.parametrize(
    "change",
    [
        {"work": 20.0, "serial": 20.0},
        {"nbytes": 2e6},
        {"gpu_speed": 2.0},
        {"work": 9.0, "serial": 20.0},
        {"nbytes": 0.0},
    ],
    ids=str,
)
def test_what_changes_the_trade_offs_changes_the_bucket(change: dict[str, float]) -> None:
    assert cost_bucket(instance(**change)) != cost_bucket(instance())


def test_one_percent_of_drift_mostly_stays_in_the_bucket() -> None:
    """Every task drifts by itself and all of them together; four figures, steps of 25 %."""
    rng = np.random.default_rng(1)
    stayed = []
    for _ in range(200):
        before = random_instance(rng, 30, 4)
        drift = rng.normal(1.0, 0.01) * rng.normal(1.0, 0.01, before.seconds.shape)
        after = Instance(before.graph, before.cluster, before.seconds * drift)
        stayed.append(cost_bucket(before) == cost_bucket(after))
    assert np.mean(stayed) > 0.85


def test_a_slower_day_moves_only_the_work() -> None:
    before = instance()
    after = Instance(before.graph, before.cluster, before.seconds * 3)
    one, two = cost_bucket(before).split("."), cost_bucket(after).split(".")
    assert [a == b for a, b in zip(one, two, strict=True)] == [False, True, True, True]


def test_nothing_to_do_has_a_bucket_of_its_own() -> None:
    none = Instance.price(TaskGraph.from_tasks([]), Cluster([Worker("w")]))
    assert cost_bucket(none) == "empty"
    free = cost_bucket(instance(work=0.0, serial=0.0, nbytes=0.0))
    assert free == "wnone.fnone.cnone.bnone"
