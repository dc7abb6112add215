"""Tasks that fail, are tried again, are cancelled or let go while a plan for them is in force."""

from __future__ import annotations

from typing import Any

import pytest
from distributed import wait

from tests.chaos.ledger import Ledger
from tests.chaos.on_workers import count, fail, fail_until
from tests.chaos.play import MODES, expected
from tests.chaos.rig import Rig
from tests.chaos.stories import AFTER, computed
from tests.chaos.workload import graph_of, make_jobs, sinks

pytestmark = pytest.mark.chaos


async def retried(rig: Rig) -> Any:
    """Some tasks fail twice and are tried again by the scheduler."""
    jobs = make_jobs()
    graph = graph_of(jobs)
    graph |= {f"unlucky-{i}": (fail_until, f"e{i}", sinks(jobs)[i % 3]) for i in range(6)}
    graph |= {f"then-{i}": (count, f"unlucky-{i}") for i in range(6)}
    rig.jobs.update(jobs)
    wanted = [f"then-{i}" for i in range(6)]
    return await rig.client.gather(rig.client.get(graph, wanted, sync=False, retries=3))


async def retried_by_hand(rig: Rig) -> Any:
    graph: dict[str, Any] = {f"unlucky-{i}": (fail_until, f"e{i}") for i in range(12)}
    graph |= {f"then-{i}": (count, f"unlucky-{i}") for i in range(12)}
    futures = rig.client.get(graph, list(graph), sync=False)
    for _ in range(2):
        await wait(futures)
        await rig.client.retry([f for f in futures if f.status == "error"])
    return await rig.client.gather(futures)


async def erred(rig: Rig) -> Any:
    """A third of the graph hangs on tasks that fail; the rest is none the worse."""
    jobs = make_jobs()
    graph = graph_of(jobs)
    graph |= {f"bad-{i}": (fail, sinks(jobs)[0]) for i in range(4)}
    graph |= {f"lost-{i}": (count, f"bad-{i % 4}", sinks(jobs)[1]) for i in range(30)}
    rig.jobs.update(jobs)
    keys = [*sinks(jobs), *(f"lost-{i}" for i in range(30))]
    futures = rig.client.get(graph, keys, sync=False)
    await wait(futures)
    fine = await rig.numbers(futures[: len(sinks(jobs))], jobs)
    assert fine == expected(jobs)
    return fine, [f.status for f in futures], [type(await f.exception()) for f in futures[-5:]]


async def cancelled(rig: Rig) -> Any:
    """Half of the wanted outputs are cancelled; the others come."""
    jobs = make_jobs()
    futures = rig.start(jobs)
    await rig.watcher.done(AFTER)
    await rig.client.cancel(futures[::2])
    outputs = await rig.client.gather(futures[1::2])
    return [value for value, _ in outputs]


async def all_cancelled(rig: Rig) -> Any:
    """All of a graph is given up in its middle; the next one is none the worse."""
    jobs = make_jobs("vain")
    futures = rig.start(jobs)
    await rig.watcher.done(AFTER)
    await rig.client.cancel(futures)
    del futures
    await rig.until(lambda: not rig.scheduler.tasks)
    return await computed(rig)


async def let_go(rig: Rig) -> Any:
    """Futures are dropped while their tasks run; then the same graph is asked for again."""
    jobs = make_jobs()
    futures = rig.start(jobs)
    await rig.watcher.done(AFTER)
    kept = futures[:2]
    del futures
    first = [value for value, _ in await rig.client.gather(kept)]
    return first, await computed(rig)


async def restarted(rig: Rig) -> Any:
    """The user restarts the whole cluster in the middle."""
    jobs = make_jobs()
    futures = rig.start(jobs)
    await rig.watcher.done(AFTER)
    await rig.client.restart(timeout=30)
    del futures
    return await computed(rig)


STORIES = (retried, retried_by_hand, erred, cancelled, all_cancelled, let_go, restarted)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_unlucky_tasks(ledger: Ledger, story: Any, mode: str) -> None:
    ledger.judge(story.__name__, story, mode)
