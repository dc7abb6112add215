"""Workers of one kind: equal ones are never told apart, different ones soon are."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from orchestrator_core.graph.cluster import Cluster, Link, Worker
from orchestrator_core.graph.signature import cluster_signature
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.learn.estimator import fit
from orchestrator_core.learn.history_costs import HistoryCosts
from tests.learn.alike import (
    KIND,
    Spread,
    bimodal,
    found,
    lognormal,
    modest,
    pareto,
    runs,
    stragglers,
    suspects,
)

SPREADS = (modest, lognormal, pareto, stragglers, bimodal)


def cluster(*names: str) -> Cluster:
    return Cluster([Worker(name, kind=KIND, threads=4) for name in names], Link(0.001, 1e9))


def kinds(distinguished: Cluster) -> list[str]:
    return [worker.kind.removeprefix(KIND) for worker in distinguished.workers]


@pytest.mark.parametrize("spread", SPREADS)
def test_equal_workers_are_practically_never_told_apart(spread: Spread) -> None:
    """200 worlds in all, of one run, of two, with few tasks, and with many workers."""
    alarms = 0
    for seed in range(40):
        number, tasks, workers = ((1, 100, 4), (2, 60, 4), (1, 30, 4), (1, 200, 16))[seed % 4]
        alarms += bool(suspects(runs(seed, [1] * workers, spread, tasks=tasks, number=number)))
    assert alarms <= 1, "at most 2 %, and one more would be 5 %"


@pytest.mark.parametrize("speeds", [(2, 1, 1, 1), (0.5, 1, 1, 1)])
def test_twice_as_fast_is_found_after_one_run(speeds: tuple[float, ...]) -> None:
    right = [found(runs(seed, speeds)) for seed in range(20)]
    assert sum(set(each) == {"0"} for each in right) >= 18
    assert {each["0"] for each in right if each} <= {
        *("~x1.5", "~x2", "~x2.5", "~x3"),
        *("~x0.67", "~x0.5", "~x0.4", "~x0.33"),
    }


@pytest.mark.parametrize("spread", [lognormal, pareto, stragglers, bimodal])
def test_four_times_as_fast_is_found_among_heavy_tails_after_two_runs(spread: Spread) -> None:
    right = [found(runs(seed, (4, 1, 1, 1), spread, number=2)) for seed in range(8)]
    assert sum(set(each) == {"0"} for each in right) >= 7


def test_several_speeds_become_several_kinds_and_equal_ones_share_one() -> None:
    """Speeds are told beside the worker in the middle."""
    assert found(runs(1, (4, 1, 2, 1, 4, 2), tasks=300, number=2)) == {
        "0": "~x2",
        "4": "~x2",
        "1": "~x0.5",
        "3": "~x0.5",
    }


def test_predictions_are_right_on_each_worker() -> None:
    observed = runs(3, (4, 2, 1, 1), number=2)
    costs = fit(observed)
    fast, middle, *slow = (w.log_seconds for w in costs.workers[::-1])
    assert math.exp(slow[0] - fast) == pytest.approx(4.0, rel=0.1)
    assert math.exp(slow[0] - middle) == pytest.approx(2.0, rel=0.1)
    builder = TaskGraph.build()
    for i in range(100):
        kind = next(o.kind for o in observed if o.task == f"t{i}")
        builder.task(f"t{i}", kind=kind)
    workers = costs.distinguish(cluster("0", "1", "2", "3"))
    seconds = costs.compute_seconds(builder.done(), workers)
    last = {(o.task, o.worker): o.seconds for o in observed}
    errors = [
        abs(seconds[int(task[1:]), int(worker)] / actual - 1.0)
        for (task, worker), actual in last.items()
    ]
    assert np.median(errors) < 0.06


def test_names_stay_the_same_from_run_to_run() -> None:
    """So that stored schedules are found again: after 2, 3 ... 6 runs, each with other noise."""
    observed = runs(5, (4, 2, 1, 1), number=6)
    seen = [
        found([o for o in observed if o.run_id in {f"r{i}" for i in range(number)}])
        for number in range(2, 7)
    ]
    assert all(each == {"0": "~x4", "1": "~x2"} for each in seen)


def test_a_worker_that_has_changed_is_soon_judged_anew() -> None:
    slow = [replace(o, run_id=f"old-{o.run_id}") for o in runs(2, (0.25, 1, 1, 1), number=6)]
    assert set(found(slow)) == {"0"}
    well = runs(2, (1, 1, 1, 1), number=6)
    assert found(well + slow) == {}


def test_an_address_is_no_name() -> None:
    names = [f"tcp://10.0.0.{i}:4321" for i in range(4)]
    assert found(runs(1, (4, 1, 1, 1), number=2, names=names)) == {}


def test_a_name_that_was_met_in_one_of_several_runs_is_not_believed_to_come_back() -> None:
    before = runs(1, (1, 1, 1, 1), number=3)
    now = runs(2, (4, 1, 1, 1), names=["new", "1", "2", "3"])
    assert found([replace(o, run_id="now") for o in now] + before) == {}


def test_a_single_straggler_or_few_tasks_prove_nothing() -> None:
    usual = runs(0, (1, 1, 1, 1), tasks=40)
    slow = [
        replace(o, worker="new", seconds=9 * o.seconds, task=f"s{i}")
        for i, o in enumerate(usual[:3])
    ]
    assert found(usual + slow) == {}


def test_kinds_are_compared_apart() -> None:
    """Another kind of worker, declared and seen to be faster, leaves equal workers alone."""
    fast = [replace(o, worker_kind="8t", worker=f"f{o.worker}") for o in runs(4, (8, 8, 8))]
    slow = runs(4, (1, 1, 1), number=1)
    assert found(fast + slow, {"8t": 8.0, KIND: 1.0}) == {}
    mixed = [replace(o, worker_kind="8t", worker=f"f{o.worker}") for o in runs(4, (24, 8, 8))]
    named = fit(mixed + slow).named
    assert [(each.kind, each.name, each.finer) for each in named] == [("8t", "f0", "8t~x3")]


def test_distinguish_gives_finer_kinds_and_changes_nothing_else() -> None:
    costs = fit(runs(1, (4, 1, 1, 1), number=2))
    plain = cluster("3", "new", "0", "1")
    told = costs.distinguish(plain)
    assert kinds(told) == ["", "", "~x4", ""]
    assert told.names == plain.names
    assert all(
        replace(a, kind=b.kind) == b for a, b in zip(told.workers, plain.workers, strict=True)
    )
    assert np.array_equal(told.latency, plain.latency)
    assert np.array_equal(told.seconds_per_byte, plain.seconds_per_byte)
    assert costs.distinguish(told) == told
    assert cluster_signature(told) != cluster_signature(plain)
    other = Cluster([Worker("0", kind="other")])
    assert costs.distinguish(other) is other
    assert HistoryCosts().distinguish(plain) is plain


def test_a_new_worker_goes_by_its_kind_and_a_finer_kind_that_is_not_known_as_well() -> None:
    costs = fit(runs(1, (4, 1, 1, 1), number=2))
    builder = TaskGraph.build()
    builder.task("t0", kind="k0")
    kind = [Worker("1", kind=KIND), Worker("n", kind=KIND), Worker("m", kind=f"{KIND}~x7")]
    usual, new, unknown = costs.compute_seconds(builder.done(), Cluster(kind))[0].tolist()
    assert usual == new == unknown


def test_json_keeps_the_names() -> None:
    costs = fit(runs(1, (4, 1, 1, 1), number=2))
    assert HistoryCosts.from_json(costs.to_json()) == costs
    older = costs.to_json().replace(b'"named"', b'"something"')
    assert HistoryCosts.from_json(older).named == ()
