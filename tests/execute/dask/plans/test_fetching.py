"""Inputs that were computed before: a plan that has to fetch too much of them is not followed."""

from __future__ import annotations

from typing import Any

import pytest
from distributed import Client, Scheduler, Worker

from orchestrator_core.execute.dask.graphs.runs import GraphRun
from orchestrator_core.execute.dask.graphs.snapshot import Snapshot
from orchestrator_core.execute.dask.graphs.stored import SMALLEST, Stored
from orchestrator_core.execute.dask.plans.fetching import fetching
from orchestrator_core.graph import cluster as workers
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.execute.dask.advisors import FixedAdvisor, plugin_of
from tests.execute.dask.cluster import NO_MEMORY, cluster_test, start, stop

MEGABYTE = 1_000_000
A, B = ("a",), ("b",)

CLUSTER = workers.Cluster.from_matrices(
    [workers.Worker(name) for name in "abc"], latency=1.0, seconds_per_byte=1e-6
)
"""To fetch a megabyte takes 2 s, whoever has it."""


def seconds(stored: dict[str, tuple[str, ...]], reads: dict[str, str], places: str) -> float:
    """What a plan has to fetch that has each task at its place; a letter for each input."""
    keys = tuple(reads)
    graph = Snapshot(
        keys=keys,
        prefixes=("t",) * len(keys),
        inputs=[list(reads[key]) for key in keys],
        stored={key: Stored(MEGABYTE, holders) for key, holders in stored.items()},
    )
    run = GraphRun(graph, CLUSTER, 0.0, lambda run: None)
    rows = [Assignment(key, place, 0.0, 1.0) for key, place in zip(keys, places, strict=True)]
    return fetching(run, Schedule(rows))


@pytest.mark.parametrize(
    ("stored", "reads", "places", "expected"),
    [
        pytest.param({}, {"t": "u", "u": ""}, "ab", 0.0, id="of the graph itself"),
        pytest.param({"x": A}, {"t": "x"}, "a", 0.0, id="where it is"),
        pytest.param({"x": A}, {"t": "x"}, "b", 2.0, id="elsewhere"),
        pytest.param({"x": ("a", "b")}, {"t": "x"}, "b", 0.0, id="a copy is there"),
        pytest.param({"x": ("lost",)}, {"t": "x"}, "b", 0.0, id="on a worker that is gone"),
        pytest.param({"x": A, "y": B}, {"t": "xy"}, "a", 0.0, id="one of two in any case"),
        pytest.param({"x": A, "y": B}, {"t": "xy"}, "c", 2.0, id="two instead of one"),
        pytest.param({"x": A, "y": A}, {"t": "x", "u": "y"}, "bb", 4.0, id="both to one"),
        pytest.param({"x": A, "y": A}, {"t": "x", "u": "y"}, "bc", 2.0, id="one to each"),
        pytest.param({"x": A}, {"t": "x", "u": "x"}, "bb", 2.0, id="fetched once for two"),
        pytest.param({"x": A}, {"t": "x", "u": "x", "v": "x"}, "abc", 0.0, id="sent to all"),
    ],
)
def test_seconds_of_the_worker_that_fetches_most(
    stored: dict[str, tuple[str, ...]], reads: dict[str, str], places: str, expected: float
) -> None:
    assert seconds(stored, reads, places) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("nbytes", "dask_alone", "is_followed"),
    [(MEGABYTE, 1.02, False), (MEGABYTE, 2.0, True), (SMALLEST // 2, 1.02, True)],
)
@cluster_test(**NO_MEMORY)
async def test_a_plan_is_followed_that_is_worth_what_it_fetches(
    c: Client, s: Scheduler, a: Worker, b: Worker, nbytes: int, dask_alone: float, is_followed: bool
) -> None:
    """Four inputs are on one worker, their readers planned on the other one for a second. To fetch
    a megabyte takes 10 ms and more at the 100 MB/s that Dask begins with: more than the 20 ms that
    the first plan saves, less than the second that the second one does."""

    def elsewhere(graph: TaskGraph, cluster: Any) -> dict[str, str]:
        return dict.fromkeys(graph.names, str(b.name))

    advisor = FixedAdvisor(elsewhere, predicted=1.0, default_predicted=dask_alone)
    plugin = plugin_of(advisor, min_gain=0.0)
    session = await start(s, plugin)
    data = await c.scatter([bytes(nbytes)] * 4, workers=[a.address], hash=False)
    futures = c.map(len, data, key=[f"t-{i}" for i in range(4)])
    assert await c.gather(futures) == [nbytes] * 4
    assert session.last_run is not None
    assert session.last_run.adopted is is_followed
    assert (
        " more to fetch inputs from where they are" in session.last_run.reason
    ) is not is_followed
    assert {ts.who_has == {s.workers[b.address]} for k, ts in s.tasks.items() if k[0] == "t"} == {
        is_followed
    }
    await stop(s, plugin)
