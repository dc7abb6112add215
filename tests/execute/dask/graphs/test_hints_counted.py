"""What hints say that tasks occupy while they run, no two of them have at a time."""

from __future__ import annotations

from typing import Any

import dask
import pytest
from dask.delayed import delayed
from distributed import Client, Event, Scheduler, Worker, get_worker

from orchestrator_core.execute.dask import OrchestratorPlugin
from tests.execute.dask.advisors import PLANS, Declining
from tests.execute.dask.cluster import cluster_test, start, stop, until

ONE = [("127.0.0.1", 4, {"resources": {"GPU": 1}})]
BOTH = [*ONE, ("127.0.0.1", 4, {"resources": {"GPU": 1}})]
WITH_ANOTHER = [*ONE, ("127.0.0.1", 4)]


def gated(number: int, gate: str) -> str:
    Event(gate).wait()  # type: ignore[no-untyped-call]
    return str(get_worker().name)


def gated_ones(tasks: int = 9, **hint: Any) -> list[Any]:
    with dask.annotate(orchestrator=hint or {"resources": {"GPU": 1}}):
        return [delayed(gated)(i, "gate", dask_key_name=f"t-{i}") for i in range(tasks)]


async def opened(c: Client, futures: list[Any]) -> list[str]:
    """Where they ran, once the gate is open."""
    await Event("gate").set()  # type: ignore[no-untyped-call]
    found: list[str] = await c.gather(futures)
    return found


def running(*workers: Worker) -> list[int]:
    """How many tasks run on each worker."""
    return [len(worker.state.executing) for worker in workers]


def waiting(*workers: Worker) -> int:
    """How many have been sent and wait for what others have."""
    return sum(len(worker.state.constrained) for worker in workers)


@pytest.mark.parametrize("advisor", PLANS)
@cluster_test(nthreads=BOTH)
async def test_one_at_a_time_where_there_is_one(
    c: Client, s: Scheduler, a: Worker, b: Worker, advisor: str
) -> None:
    """Four threads each, and an accelerator."""
    plugin = OrchestratorPlugin(mode="director", advisor=PLANS[advisor]())
    session = await start(s, plugin)
    futures = c.compute(gated_ones(), optimize_graph=False)
    await until(lambda: waiting(a, b) == 7)
    assert running(a, b) == [1, 1]
    assert set(await opened(c, futures)) == {str(a.name), str(b.name)}
    assert session.last_run is not None
    assert session.last_run.adopted == (advisor == "planned")
    assert [ws.used_resources for ws in s.workers.values()] == [{"GPU": 0}] * 2
    await stop(s, plugin)


@cluster_test(nthreads=BOTH)
async def test_what_asks_for_less_than_there_is_runs_together(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(mode="director", advisor=Declining())
    await start(s, plugin)
    futures = c.compute(gated_ones(8, resources={"GPU": 0.5}), optimize_graph=False)
    await until(lambda: waiting(a, b) == 4)
    assert running(a, b) == [2, 2]
    await opened(c, futures)
    await stop(s, plugin)


@pytest.mark.parametrize("amounts", [{"GPU": 2}, {"TPU": 1}])
@cluster_test(nthreads=ONE)
async def test_what_no_worker_has_is_waited_for_by_nobody(
    c: Client, s: Scheduler, a: Worker, amounts: dict[str, float]
) -> None:
    plugin = OrchestratorPlugin(mode="director", advisor=Declining())
    await start(s, plugin)
    futures = c.compute(gated_ones(resources=amounts), optimize_graph=False)
    await until(lambda: running(a) == [4])
    await opened(c, futures)
    await stop(s, plugin)


@pytest.mark.parametrize("advisor", PLANS)
@cluster_test(nthreads=WITH_ANOTHER)
async def test_where_the_last_that_has_it_is_lost_they_run_anywhere(
    c: Client, s: Scheduler, a: Worker, b: Worker, advisor: str
) -> None:
    plugin = OrchestratorPlugin(mode="director", advisor=PLANS[advisor]())
    await start(s, plugin)
    futures = c.compute(gated_ones(), optimize_graph=False)
    await until(lambda: waiting(a) == 8)
    assert running(a, b) == [1, 0]
    await a.close(executor_wait=False)
    assert set(await opened(c, futures)) == {str(b.name)}
    await stop(s, plugin)


@cluster_test(nthreads=ONE)
async def test_nothing_of_it_is_left_when_the_plugin_goes(
    c: Client, s: Scheduler, a: Worker
) -> None:
    """But what a user says of Dask's own. The worker goes on as it was told."""
    plugin = OrchestratorPlugin(mode="director", advisor=Declining())
    await start(s, plugin)
    tasks = gated_ones()
    with dask.annotate(resources={"GPU": 1}, orchestrator={"resources": {"GPU": 0.25}}):
        tasks.append(delayed(gated)(9, "gate", dask_key_name="own"))
    futures = c.compute(tasks, optimize_graph=False)
    await until(lambda: waiting(a) == 9)
    await stop(s, plugin)
    needing = {str(k): task.resource_restrictions for k, task in s.tasks.items()}
    assert {key: needed for key, needed in needing.items() if needed} == {"own": {"GPU": 1}}
    assert s.workers[a.address].used_resources == {"GPU": 1}
    await opened(c, futures)
    assert s.workers[a.address].used_resources == {"GPU": 0}


@cluster_test(nthreads=ONE)
async def test_who_restricts_by_workers_alone_counts_nothing(
    c: Client, s: Scheduler, a: Worker
) -> None:
    """There a task that needs resources is one that nobody may place."""
    plugin = OrchestratorPlugin(mode="restrict", advisor=Declining())
    await start(s, plugin)
    futures = c.compute(gated_ones(), optimize_graph=False)
    await until(lambda: running(a) == [4])
    assert not any(task.resource_restrictions for task in s.tasks.values())
    await opened(c, futures)
    await stop(s, plugin)
