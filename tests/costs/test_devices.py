"""No plan lets tasks fill an accelerator beyond its memory."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from orchestrator_core.costs.devices import DEVICE_MEMORY, MEBIBYTE, with_devices
from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.schedule import Assignment

GPU = Worker("gpu", threads=4, resources={DEVICE_MEMORY: 1000.0, "GPU": 1})


def steps(n: int = 6) -> TaskGraph:
    builder = TaskGraph.build()
    for i in range(n):
        builder.task(f"step-{i}", kind="step", seconds=1.0)
    return builder.done()


def believed(mebibytes: float, n: int = 6) -> np.ndarray:
    return np.full(n, mebibytes * MEBIBYTE)


def at_once(rows: Iterable[Assignment]) -> int:
    spans = [(row.start, row.end) for row in rows]
    return max(sum(a <= start < b for a, b in spans) for start, _ in spans)


def test_a_plan_runs_as_many_at_once_as_the_device_holds() -> None:
    graph, cluster = with_devices(steps(), Cluster([GPU]), believed(400))
    instance = Instance.price(graph, cluster)
    result = plan(instance)
    check_schedule(instance, result.schedule)
    assert at_once(result.schedule.assignments) == 2, "2 x 400 of 1000, though it has 4 threads"
    assert result.schedule.makespan == 3.0


def test_workers_without_a_device_use_their_own_memory() -> None:
    host = Worker("host", threads=2, memory=500 * MEBIBYTE)
    endless = Worker("endless", threads=8)
    _, cluster = with_devices(steps(), Cluster([GPU, host, endless]), believed(400))
    offers = [worker.resources[DEVICE_MEMORY] for worker in cluster.workers]
    assert offers[:2] == [1000.0, 500.0]
    assert offers[2] >= 8 * 400, "never scarce"
    assert [w.resources.get("GPU", 0) for w in cluster.workers] == [1, 0, 0]


def test_nothing_changes_where_devices_cannot_be_scarce_or_nothing_is_known() -> None:
    graph, cluster = steps(), Cluster([GPU])
    for known in (believed(math.nan), believed(0), believed(250)):
        assert with_devices(graph, cluster, known) == (graph, cluster)


def test_a_task_that_needs_more_than_there_is_has_the_device_to_itself() -> None:
    graph, cluster = with_devices(steps(2), Cluster([GPU]), believed(5000, 2))
    result = plan(Instance.price(graph, cluster))
    assert at_once(result.schedule.assignments) == 1


def test_what_a_task_states_itself_is_kept() -> None:
    builder = TaskGraph.build()
    builder.task("a", seconds=1.0, resources={DEVICE_MEMORY: 7.0})
    builder.task("b", seconds=1.0)
    graph, _ = with_devices(builder.done(), Cluster([GPU]), believed(400, 2))
    assert [graph.demand(m).resources[DEVICE_MEMORY] for m in (0, 1)] == [7.0, 400.0]
