"""What tasks cost around their own code is learned as it was measured, by kind and by worker."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.observation import Observation
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import Floats, TaskGraph
from orchestrator_core.learn.columns import columns_of
from orchestrator_core.learn.estimator import fit
from orchestrator_core.learn.history_costs import HistoryCosts
from orchestrator_core.learn.measured_overhead import MeasuredOverhead

CROWDED, ALONE = 0.34, 0.13
"""Seconds around a task on a worker of three threads, and of one: the same processor."""


def seen(task: str, worker: str, work: float, around: float, told: bool = True) -> Observation:
    kind = task.split("-")[0]
    overhead = around if told else None
    return Observation(task, kind, "w", worker, work + around, overhead_seconds=overhead)


def a_run(told: bool) -> list[Observation]:
    """Short tasks on both workers, long ones on the crowded one only."""
    short = [seen(f"clean-{i}", "large", 0.5, CROWDED, told) for i in range(6)]
    short += [seen(f"clean-{i}", "small", 0.5, ALONE, told) for i in range(6, 8)]
    return [*short, seen("train-0", "large", 2.0, CROWDED, told)]


def predicted(costs: HistoryCosts, kind: str = "train", *others: Worker) -> Floats:
    """(workers,) seconds of a task of this kind on large, small and these."""
    builder = TaskGraph.build()
    builder.task(f"{kind}-0", kind=kind)
    cluster = Cluster([Worker("l", kind="large"), Worker("s", kind="small"), *others])
    return costs.compute_seconds(builder.done(), cluster)[0]


def test_a_crowded_worker_is_no_slow_one() -> None:
    """A sleep of two seconds takes two anywhere, and what is around it is the worker's."""
    assert predicted(fit(a_run(told=True))) == pytest.approx(
        [2.0 + CROWDED, 2.0 + ALONE], abs=0.005
    )


def test_without_a_measurement_it_would_pass_for_one() -> None:
    assert predicted(fit(a_run(told=False)))[1] < 2.0


def test_what_was_not_measured_had_what_others_had_there() -> None:
    """The first task of a process is never measured."""
    some = [seen("train-1", "small", 2.0, ALONE, told=False)]
    assert predicted(fit([*a_run(told=True), *some])) == pytest.approx(
        [2.0 + CROWDED, 2.0 + ALONE], abs=0.02
    )


def test_a_kind_that_costs_more_does_so_where_it_was_never_seen() -> None:
    dear = [seen(f"store-{i}", "large", 1.0, CROWDED + 0.2) for i in range(4)]
    costs = fit([*a_run(told=True), *dear])
    assert predicted(costs, "store") == pytest.approx(
        [1.0 + CROWDED + 0.2, 1.0 + ALONE + 0.2], abs=0.01
    )


def test_an_unknown_worker_costs_what_is_usual() -> None:
    costs = fit(a_run(told=True))
    usual = predicted(costs, "train", Worker("x", kind="never seen"))[2]
    assert ALONE <= usual - 2.0 <= CROWDED + 0.005


def test_a_faster_processor_does_not_shorten_it() -> None:
    """Speed 4 and speed 1, the same overhead."""
    fast = [seen(f"fit-{i}", "large", 0.1, 0.2) for i in range(4)]
    slow = [seen(f"fit-{i}", "small", 0.4, 0.2) for i in range(4, 8)]
    rare = seen("train-0", "small", 4.0, 0.2)
    assert predicted(fit([*fast, *slow, rare])) == pytest.approx([1.2, 4.2], rel=0.03)


def test_hardly_any_work_is_all_overhead() -> None:
    costs = fit([seen(f"log-{i}", "large", 1e-6, 0.3) for i in range(5)])
    assert predicted(costs, "log") == pytest.approx([0.3, 0.3], abs=0.001)


def test_kinds_that_nobody_measured_stay_as_they_were() -> None:
    plain = [seen(f"sum-{i}", "large", 1.0, 0.0, told=False) for i in range(8)]
    alone, beside = fit(plain), fit([*plain, *a_run(told=True)])
    assert predicted(beside, "sum")[0] == pytest.approx(predicted(alone, "sum")[0], rel=0.02)
    measured = MeasuredOverhead.of(columns_of([*plain, *a_run(told=True)]))
    assert np.isnan(measured.usual).tolist() == [False, True, False]


@pytest.mark.parametrize("told", [-1.0, 9.0, float("nan"), float("inf")])
def test_what_cannot_be_is_cut_or_left_out(told: float) -> None:
    odd = Observation("a-0", "a", "w", "large", 1.0, overhead_seconds=told)
    (overhead,) = columns_of([odd]).overhead
    assert np.isnan(overhead) or 0.0 <= overhead <= 1.0


def test_only_what_happened_lately_counts() -> None:
    """Eight runs ago Prefect's server was slow."""
    runs = [
        Observation("a-0", "a", "w", "large", 1.0 + o, run_id=f"{i}", overhead_seconds=o)
        for i, o in enumerate([0.1] * 8 + [0.5] * 20)
    ]
    assert predicted(fit(runs), "a")[0] == pytest.approx(1.1, abs=0.01)


def test_it_survives_json() -> None:
    costs = fit(a_run(told=True))
    again = HistoryCosts.from_json(costs.to_json())
    assert again == costs
    assert predicted(again).tolist() == predicted(costs).tolist()
