"""The workloads of `./dev bench live`: their graphs give the right values, at no duration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dask.local import get_sync

from orchestrator_core import Cluster, Instance, Task, TaskGraph, Worker
from tests.benchmarks.live.cluster import MIXED
from tests.benchmarks.live.made import made
from tests.benchmarks.live.tasks import number_of
from tests.benchmarks.live.traces import SECONDS, traces
from tests.benchmarks.live.variants import noisy, one_straggler, swapped
from tests.benchmarks.live.workload import Workload

INSTANCES = Path(__file__).resolve().parents[2] / "instances"
WORKLOADS = {each.name: each for each in [*made(), *traces(INSTANCES, 50, MIXED)]}


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS.keys())
def test_a_workload_computes_what_it_says(workload: Workload) -> None:
    small = workload.scaled(seconds=0.0, nbytes=1e-6)
    outputs = get_sync(small.graph(), small.wanted)  # type: ignore[arg-type]
    numbers = workload.numbers()
    assert [number_of(each) for each in outputs] == [numbers[key] for key in workload.wanted]


def test_numbers_count_what_went_into_an_output() -> None:
    assert WORKLOADS["chain"].numbers()[("chain", 15)] == 16
    # 256 loads, each with the 6 that it reads, 255 merges, and the total.
    assert WORKLOADS["reduction"].numbers()[("total", 0)] == 256 * 7 + 255 + 1


def test_a_trace_is_scaled_to_the_cluster() -> None:
    (trace,) = (each for each in WORKLOADS.values() if each.group == "traces")
    work = sum(step.seconds for step in trace.steps.values()) / sum(MIXED)
    assert 0 < work <= SECONDS * (1 + 1e-9)
    assert sum(step.nbytes for step in trace.steps.values()) <= 400e6


def priced() -> Instance:
    graph = TaskGraph.from_tasks([Task(f"t{i}") for i in range(50)], [])
    cluster = Cluster([Worker(str(i)) for i in range(4)])
    return Instance(graph, cluster, np.ones((50, 4)) / np.array(MIXED))


def test_noise_is_one_factor_for_each_task_and_another_in_each_pair() -> None:
    true = priced()
    factors = noisy(3)(true).seconds / true.seconds
    assert np.allclose(factors, factors[:, :1])
    assert 0.25 < np.std(np.log(factors[:, 0])) < 0.55
    assert np.array_equal(noisy(3)(true).seconds / true.seconds, factors)
    assert not np.allclose(noisy(4)(true).seconds / true.seconds, factors)


def test_swapped_speeds_are_four_times_wrong() -> None:
    true = priced()
    assert np.allclose(swapped(0)(true).seconds / true.seconds, [4, 2, 0.5, 0.25])


def test_one_task_straggles() -> None:
    before = WORKLOADS["layered"]
    after = one_straggler(before, 0)
    changed = [key for key, step in after.steps.items() if step != before.steps[key]]
    assert [after.steps[k].seconds / before.steps[k].seconds for k in changed] == [10.0]
