"""Random graphs, random plans, random events: results are Dask's, and no state is ever broken.

Schedulers and workers validate themselves after each transition.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest
from distributed import Client, Scheduler, Worker
from distributed.core import Status

from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import add, cluster_test, start, stop

TASKS = 60


def random_graph(random: Random, tag: str) -> tuple[dict[str, Any], dict[str, int]]:
    """A graph, and the result of each of its tasks."""
    graph: dict[str, Any] = {}
    results: dict[str, int] = {}
    for i in range(TASKS):
        above = random.sample(list(graph), min(len(graph), random.choice([0, 1, 1, 2, 3])))
        key = f"{tag}{random.choice('xyz')}-{i}"
        graph[key] = (add, *above)
        results[key] = 1 + sum(results[k] for k in above)
    return graph, results


class RandomAdvisor(FixedAdvisor):
    """Any worker for any task; some tasks are left out of the plan."""

    def __init__(self, random: Random) -> None:
        super().__init__(self.anywhere)
        self.random = random

    def anywhere(self, graph: TaskGraph, cluster: Cluster) -> dict[str, str]:
        return {
            name: self.random.choice(cluster.names)
            for name in graph.names
            if self.random.random() < 0.9
        }


async def happen(random: Random, s: Scheduler, workers: list[Worker]) -> None:
    """One event, drawn at random; one worker at least is left running."""
    event = random.choice(["pause", "resume", "join", "leave", "nothing", "nothing"])
    running = [w for w in workers if w.status is Status.running]
    paused = [w for w in workers if w.status is Status.paused]
    if event == "pause" and len(running) > 1:
        random.choice(running).status = Status.paused
    elif event == "resume" and paused:
        random.choice(paused).status = Status.running
    elif event == "join" and len(workers) < 5:
        name = f"late-{random.randrange(3)}"
        if name not in s.aliases:
            workers.append(await Worker(s.address, nthreads=1, name=name, memory_limit=0))
    elif event == "leave" and len(running) > 1:
        leaver = random.choice(running)
        workers.remove(leaver)
        await leaver.close()


@pytest.mark.parametrize("mode", ["director", "restrict"])
@pytest.mark.parametrize("seed", range(6))
@cluster_test(
    nthreads=[("127.0.0.1", 1), ("127.0.0.1", 2), ("127.0.0.1", 1)],
    worker_kwargs={"memory_limit": 0, "validate": True},
    scheduler_kwargs={"validate": True, "allowed_failures": 100},
)
async def test_results_are_those_of_dask(
    c: Client, s: Scheduler, *first: Worker, seed: int, mode: str
) -> None:
    random = Random(seed)
    workers = list(first)
    advisor = RandomAdvisor(random)
    plugin = OrchestratorPlugin(mode=mode, advisor=advisor, min_tasks=1)
    session = await start(s, plugin)
    for round_ in range(3):
        graph, results = random_graph(random, f"r{round_}")
        wanted = random.sample(list(graph), 10)
        futures = c.get(graph, wanted, sync=False)
        gathering = asyncio.ensure_future(c.gather(futures))
        for _ in range(5):
            await happen(random, s, workers)
        for worker in workers:
            worker.status = Status.running
        assert await gathering == [results[key] for key in wanted]
        s.validate_state()
        assert session.steering.follower.disabled is None
        assert session.steering.follower.check() == ()
        del futures, gathering
    await stop(s, plugin)
    assert [run.status for run in advisor.runs] == ["ok"] * 3
    assert not any(ts.worker_restrictions for ts in s.tasks.values())
    for worker in workers:
        await worker.close()
