"""Whole collections: planned by their structure, with plain Dask's results; Dask's own machinery
and what users asked for are left alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from dask.delayed import delayed
from distributed import Client, Event, Scheduler, Worker, wait

from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.graphs.names import TOKEN
from orchestrator_core.graph.signature import graph_signature
from orchestrator_core.graph.task_graph import TaskGraph
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import (
    add,
    cluster_test,
    layers,
    start,
    stop,
    until,
    wait_for,
)
from tests.execute.dask.spy import Spy

FRAME = pd.DataFrame({"x": np.arange(60) % 7, "y": np.arange(60.0)})


def of_delayed() -> Any:
    parts = [delayed(add, pure=False)(i) for i in range(6)]
    return delayed(sum, pure=False)([delayed(add, pure=False)(part) for part in parts])


def of_array() -> Any:
    x = da.random.default_rng(1).random((40, 40), chunks=(10, 10))
    return (x + x.T).sum(axis=0) - x.mean(axis=0)


def of_rechunked() -> Any:
    x = da.arange(400, chunks=50).reshape(20, 20).rechunk((5, 20))
    return (x.rechunk((20, 5)) + 1).sum(axis=1)


def of_bag() -> Any:
    return db.from_sequence(range(40), npartitions=8).map(lambda i: i % 5).frequencies()


def of_frame() -> Any:
    return dd.from_pandas(FRAME, npartitions=6).groupby("x").y.sum()


def of_shuffle() -> Any:
    frame = dd.from_pandas(FRAME, npartitions=6)
    return frame.shuffle("x").map_partitions(len, meta=("n", "i8")).sum()


def of_merge() -> Any:
    left = dd.from_pandas(FRAME, npartitions=6)
    right = dd.from_pandas(FRAME.assign(y=1.0), npartitions=5)
    return left.merge(right, on="x", broadcast=False).y_x.sum()


def of_xarray() -> Any:
    values = da.arange(24, chunks=24).reshape(6, 4).rechunk((6, 2))
    return xr.DataArray(values, dims=("time", "place")).rolling(time=3).mean().sum("time").data


COLLECTIONS = [
    of_delayed, of_array, of_rechunked, of_bag, of_frame, of_shuffle, of_merge, of_xarray
]  # fmt: skip


BY_PEERS = {"array.rechunk.method": "p2p", "dataframe.shuffle.method": "p2p"}
QUIET = {"distributed.admin.system-monitor.gil.enabled": False}
BY_TASKS = dict.fromkeys(BY_PEERS, "tasks")


@pytest.mark.parametrize("make", COLLECTIONS)
@cluster_test(config=BY_PEERS | QUIET)
async def test_a_collection_is_planned_and_known_again(
    c: Client, s: Scheduler, a: Worker, b: Worker, make: Callable[[], Any]
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode="director", advisor=advisor, min_tasks=1)
    session = await start(s, plugin)
    with dask.config.set(BY_TASKS):
        (expected,) = dask.compute(make(), scheduler="sync")
    for _ in range(2):
        found = await c.compute(make())
        assert sorted(np.ravel(found).tolist()) == sorted(np.ravel(expected).tolist())
        await until(lambda: not s.tasks)
    assert session.counters.faults == 0
    await stop(s, plugin)
    first, again = (graph for graph, _, _ in advisor.asked)
    assert graph_signature(first).digest == graph_signature(again).digest
    assert sorted(first.kinds) == sorted(again.kinds)
    assert not any(TOKEN.search(kind) for kind in first.kinds)
    same = set(first.names) & set(again.names)
    unlike = {re.split(r"[-(]", name)[0] for name in set(first.names) - same}
    assert unlike <= {"add"}, "only tasks that nothing tells apart go by another name"
    ran = {record.task: record.worker for run in advisor.runs for record in run.tasks}
    assert set(first.names) | set(again.names) == set(ran)
    planned = {x.task: x.worker for plan in advisor.plans for x in plan.assignments}
    assert {task for task in ran if ran[task] != planned[task]} <= exchanges(first)


def exchanges(graph: TaskGraph) -> set[str]:
    """Barriers, what sends to them and what receives from them, under whatever names."""
    barriers = {i for i in range(len(graph)) if graph.kind(i) == "shuffle-barrier"}
    edges = zip(graph.producer.tolist(), graph.consumer.tolist(), strict=True)
    return {graph.names[i] for edge in edges if barriers & set(edge) for i in edge}


@pytest.mark.parametrize("make", [of_rechunked, of_shuffle, of_merge])
@cluster_test(config=BY_PEERS | QUIET)
async def test_exchanges_among_workers_are_left_to_dask(
    c: Client, s: Scheduler, a: Worker, b: Worker, make: Callable[[], Any]
) -> None:
    """All that sends to a barrier, the barrier, and all that receives from it."""
    advisor = FixedAdvisor(lambda graph, _: dict.fromkeys(graph.names, str(b.name)))
    plugin = OrchestratorPlugin(mode="director", advisor=advisor, min_tasks=1)
    session = await start(s, plugin)
    future = c.compute(make())
    await until(lambda: len(session.steering.follower) > 0)
    barriers = [ts for ts in s.tasks.values() if ts.prefix.name == "shuffle-barrier"]
    exchange = {t.key for ts in barriers for t in (ts, *ts.dependencies, *ts.dependents)}
    assert len(exchange) > 3
    assert not any(key in session.steering.follower for key in exchange)
    await future
    await stop(s, plugin)


@cluster_test(nthreads=[("127.0.0.1", 1)])
async def test_the_users_priorities_beat_the_plans_ranks(
    c: Client, s: Scheduler, a: Worker
) -> None:
    """Three graphs wait for one worker: the urgent one is done first, the others as they came."""
    tags = ("early", "late", "urgent")
    plugin = OrchestratorPlugin(mode="director", advisor=FixedAdvisor(), min_tasks=1)
    await start(s, plugin)
    gate = c.submit(wait_for, "go", key="gate-0")
    await until(lambda: a.state.executing_count == 1)
    futures = []
    for tag in tags:
        graph, keys = layers(depth=1, tag=tag)
        urgency = 5 if tag == "urgent" else 0
        futures += c.get(graph, keys, sync=False, priority=urgency, fifo_timeout="0ms")
        # One after the other: of a graph that is left to Dask, some would wait on the scheduler.
        sent = 1 + len(futures)
        await until(lambda sent=sent: len(a.state.tasks) == sent)  # type: ignore[misc]
    ended: list[str] = []
    s.plugins["spy"] = Spy(ended)  # type: ignore[assignment]
    await Event("go").set()
    assert await c.gather(futures) == [1] * 18
    done = [key.split("-")[0] for key in ended if key != "gate-0"]
    assert done == ["urgent"] * 6 + ["early"] * 6 + ["late"] * 6
    del gate
    await stop(s, plugin)


@cluster_test()
async def test_a_graph_on_top_of_unfinished_futures(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Only what is new is planned; what the first graph was promised stays."""
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode="director", advisor=advisor, min_tasks=1)
    session = await start(s, plugin)
    gate = c.submit(wait_for, "go", key="gate-0")
    first: dict[str, Any] = {f"f-{i}": (add, gate) for i in range(6)}
    below = c.get(first, list(first), sync=False)
    await until(lambda: "f-0" in session.steering.follower)
    before = {key: session.steering.follower.slot(key) for key in first}
    above = c.map(add, below, key=[f"g-{i}" for i in range(6)])
    await until(lambda: "g-0" in session.steering.follower)
    assert {key: session.steering.follower.slot(key) for key in first} == before
    await Event("go").set()
    assert await c.gather(above) == [3] * 6
    s.validate_state()
    await stop(s, plugin)
    asked = [set(graph.names) for graph, _, _ in advisor.asked]
    assert asked == [set(first), {f"g-{i}" for i in range(6)}]


@cluster_test()
async def test_the_same_graph_twice_is_planned_once(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode="director", advisor=advisor, min_tasks=1)
    session = await start(s, plugin)
    graph: dict[str, Any] = {"gate-0": (wait_for, "go")}
    graph |= {f"t-{i}": (add, "gate-0") for i in range(6)}
    once = c.get(graph, list(graph), sync=False)
    await until(lambda: "t-0" in session.steering.follower)
    async with Client(s.address, asynchronous=True, set_as_default=False) as other:
        twice = other.get(graph, list(graph), sync=False)
        await until(lambda: len(s.tasks["t-0"].who_wants or ()) == 2)
        await Event("go").set()
        assert await c.gather(once) == await other.gather(twice) == [1] + [2] * 6
    await stop(s, plugin)
    assert len(advisor.asked) == len(advisor.runs) == 1


@cluster_test()
async def test_scattered_data_is_an_input_that_is_there(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode="director", advisor=advisor, min_tasks=1)
    await start(s, plugin)
    data = await c.scatter(41)
    futures = c.map(add, [data] * 4, key=[f"t-{i}" for i in range(4)])
    assert await c.gather(futures) == [42] * 4
    await stop(s, plugin)
    ((graph, _, _),) = advisor.asked
    assert set(graph.names) == {f"t-{i}" for i in range(4)}
    assert graph.n_edges == 0


class Flaky:
    """Fails the first time that it is called in this process."""

    failed: ClassVar[set[str]] = set()

    def __call__(self, name: str) -> str:
        if name not in self.failed:
            self.failed.add(name)
            raise OSError(name)
        return name


@cluster_test()
async def test_a_task_with_retries_is_tried_again_where_it_was_planned(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor(lambda graph, _: dict.fromkeys(graph.names, str(b.name)))
    plugin = OrchestratorPlugin(mode="director", advisor=advisor, min_tasks=1)
    await start(s, plugin)
    Flaky.failed.clear()
    names = [f"t-{i}" for i in range(4)]
    assert await c.gather(c.map(Flaky(), names, key=names, retries=2)) == names
    await stop(s, plugin)
    (run,) = advisor.runs
    assert {(record.task, record.worker, record.attempt) for record in run.tasks} >= {
        (name, str(b.name), 2) for name in names
    }


@cluster_test()
async def test_records_have_stable_names_even_if_nothing_was_planned(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Nobody asks for the names before the run is over."""
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode="observe", advisor=advisor)
    await start(s, plugin)
    future = c.compute(of_array())
    await wait(future)
    await stop(s, plugin)
    (run,) = advisor.runs
    assert {record.task for record in run.tasks} == set(run.graph.names)
    assert not any(TOKEN.search(record.task) for record in run.tasks)
    kinds = {name: run.graph.kind(i) for i, name in enumerate(run.graph.names)}
    assert all(record.kind == kinds[record.task] for record in run.tasks)
