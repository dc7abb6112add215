"""Several graphs and clients at once, graphs that grow, and tasks that nobody may plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dask import array as da
from dask import config
from distributed import Client

from orchestrator_core.execute.dask import OrchestratorPlugin
from tests.chaos.advisors import Planner
from tests.chaos.ledger import Ledger
from tests.chaos.on_workers import Counter, plus, total
from tests.chaos.play import DIRECTED, MODES, PLAIN, expected
from tests.chaos.rig import Rig
from tests.chaos.stories import AFTER, computed
from tests.chaos.workload import graph_of, make_jobs, sinks

pytestmark = pytest.mark.chaos
LARGE = 20_000


async def second_client(rig: Rig) -> Any:
    """Another client's graph arrives in the middle, and that client leaves before the end."""
    jobs, theirs = make_jobs(), make_jobs("other", seed=8)
    futures = rig.start(jobs)
    await rig.watcher.done(AFTER)
    address = rig.scheduler.address
    async with Client(address, asynchronous=True, set_as_default=False) as other:
        rig.jobs.update(theirs)
        both = other.get(graph_of(theirs), sinks(theirs)[:3], sync=False)
        seen = [value for value, _ in await other.gather(both)]
    numbers = await rig.numbers(futures, jobs)
    assert numbers == expected(jobs)
    return numbers, seen


async def client_gone(rig: Rig) -> Any:
    """The client of a running graph disappears; the graph of another goes on."""
    theirs = make_jobs("other", seed=8)
    async with Client(rig.scheduler.address, asynchronous=True, set_as_default=False) as other:
        futures = rig.start(theirs, other)
        await rig.watcher.done(AFTER)
        del futures
    return await computed(rig)


async def same_graph_twice(rig: Rig) -> Any:
    jobs = make_jobs()
    first = rig.start(jobs)
    await rig.watcher.done(AFTER)
    second = rig.start(jobs)
    return await rig.numbers(first, jobs), await rig.numbers(second, jobs)


async def same_graph_again(rig: Rig) -> Any:
    jobs = make_jobs()
    first = await rig.numbers(rig.start(jobs), jobs)
    await rig.until(lambda: not rig.scheduler.tasks)
    return first, await rig.numbers(rig.start(jobs), jobs)


async def extended(rig: Rig) -> Any:
    """More tasks are hung onto running ones, three times."""
    jobs = make_jobs(tasks=120)
    keys = list(jobs)
    futures = []
    for end in (40, 80, 120):
        part = {key: jobs[key] for key in keys[:end]}
        rig.jobs.update(part)
        graph = graph_of(part)
        futures += rig.client.get(graph, sinks(part), sync=False)
        await rig.watcher.done(end // 2)
    return await rig.numbers(futures[-len(sinks(jobs)) :], jobs)


async def one_by_one(rig: Rig) -> Any:
    """`Client.submit` makes a graph of each task."""
    jobs = make_jobs(tasks=60)
    graph, futures = graph_of(jobs), {}
    for key, (function, *arguments) in graph.items():
        inputs = [futures.get(a, a) for a in arguments]
        futures[key] = rig.client.submit(function, *inputs, key=key)
    return await rig.numbers([futures[key] for key in sinks(jobs)], jobs)


async def many_small_graphs(rig: Rig) -> Any:
    graphs = [make_jobs(f"g{i}x", 12, seed=i, pace=0.3) for i in range(12)]
    futures = [rig.start(jobs) for jobs in graphs]
    return [await rig.numbers(f, jobs) for f, jobs in zip(futures, graphs, strict=True)]


async def actors(rig: Rig) -> Any:
    jobs = make_jobs()
    futures = rig.start(jobs)
    actor = await rig.client.submit(Counter, actor=True, key="actor-0")
    counted = [await actor.add(i) for i in range(20)]
    return counted, await rig.numbers(futures, jobs)


async def scattered(rig: Rig) -> Any:
    """Data that a client sent, some of it to all workers, is used by a planned graph."""
    one, all_ = np.arange(1000.0), np.ones(5000)
    jobs = make_jobs()
    data = await rig.client.scatter(one, hash=False)
    copies = await rig.client.scatter(all_, broadcast=True, hash=False)
    futures = rig.start(jobs)
    sums = rig.client.map(total, [data, copies] * 10, key=[f"sum-{i}" for i in range(20)])
    return await rig.client.gather(sums), await rig.numbers(futures, jobs)


async def shuffled(rig: Rig) -> Any:
    """A peer-to-peer rechunk beside a planned graph."""
    jobs = make_jobs()
    futures = rig.start(jobs)
    with config.set({"array.rechunk.method": "p2p", "optimization.fuse.active": False}):
        x = da.arange(400 * 400, chunks=4000).reshape(400, 400).rechunk((400, 20))
        y = x.rechunk((20, 400), method="p2p").sum(axis=0)
        sums = await rig.client.compute(y)
    assert sums.shape == (400,)
    return sums.tolist(), await rig.numbers(futures, jobs)


async def array_and_noise(rig: Rig) -> Any:
    x = da.ones((600, 600), chunks=(100, 100))
    y = (x @ x.T + x).mean()
    return float(await rig.client.compute(y)), await computed(rig)


async def large(rig: Rig) -> Any:
    """A graph of 20,000 tasks in one call."""
    width = LARGE // 5
    graph: dict[str, Any] = {}
    for layer in range(5):
        for i in range(width):
            above = [f"big-{layer - 1}-{i}"] if layer else []
            graph[f"big-{layer}-{i}"] = (plus, *above)
    futures = rig.client.get(graph, [f"big-4-{i}" for i in range(0, width, 10)], sync=False)
    return sum(await rig.client.gather(futures))


STORIES = (
    second_client,
    client_gone,
    same_graph_twice,
    same_graph_again,
    extended,
    one_by_one,
    many_small_graphs,
    actors,
    scattered,
    shuffled,
    array_and_noise,
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_graphs(ledger: Ledger, story: Any, mode: str) -> None:
    ledger.judge(story.__name__, story, mode, plans=story is not one_by_one)


def make_hasty(mode: str) -> OrchestratorPlugin | None:
    """As users have it: the event loop waits but shortly for a plan."""
    if mode == PLAIN:
        return None
    return OrchestratorPlugin(mode=DIRECTED.get(mode, mode), advisor=Planner(mode == "holds"))


@pytest.mark.parametrize("mode", MODES)
def test_a_large_graph(ledger: Ledger, mode: str) -> None:
    ledger.judge("large", large, mode, make=make_hasty, limit=100.0)
