"""Tasks that hold a thread and wait for what is planned behind them: others take that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from distributed import Client, Event, Scheduler, Worker, get_client

from orchestrator_core.execute.dask.steer import jam, lookout
from orchestrator_core.execute.dask.steer.jam import Jams, idle, jammed
from tests.execute.dask.advisors import FixedAdvisor, PricedAdvisor, all_on_first, plugin_of
from tests.execute.dask.cluster import add, cluster_test, start, stop, until, wait_for

QUICK = {"heartbeat_interval": "20ms", "validate": True}
PARTS = 12


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jam, "LONGEST", 0.1)
        patch.setattr(lookout, "PERIOD", 0.05)
        yield


def submitter(parts: int) -> int:
    """Waits for what it submits and keeps its thread meanwhile, as nobody should."""
    client = get_client()
    futures = client.map(add, range(parts), key=[f"part-{i}" for i in range(parts)])
    return sum(future.result(timeout=80) for future in futures)


def setter(event: str) -> int:
    Event(event).set()
    return 1


@cluster_test(worker_kwargs=QUICK)
async def test_what_a_task_submits_and_waits_for_does_not_wait_behind_it(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = plugin_of(FixedAdvisor(all_on_first))
    session = await start(s, plugin)
    future = c.submit(submitter, PARTS, key="submitter", workers=[a.address])
    assert await future == sum(1 + i for i in range(PARTS))
    assert session.counters.released == session.counters.moved == PARTS
    assert session.counters.faults == 0
    s.validate_state()
    await stop(s, plugin)


@cluster_test(worker_kwargs=QUICK)
async def test_what_sets_an_event_does_not_wait_behind_who_waits_for_it(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = plugin_of(FixedAdvisor(all_on_first))
    await start(s, plugin)
    graph = {"a-waiter": (wait_for, "go"), "b-setter": (setter, "go"), "c": (add,)}
    assert await c.gather(c.get(graph, list(graph), sync=False)) == [1, 1, 1]
    s.validate_state()
    await stop(s, plugin)


@cluster_test(worker_kwargs=QUICK)
async def test_a_repair_avoids_workers_whose_threads_others_hold(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Jams, "look", lambda jams: None)
        advisor = PricedAdvisor(all_on_first, seconds=0.5)
        plugin = plugin_of(advisor)
        await start(s, plugin)
        service = c.submit(wait_for, "closing time", key="service", workers=[a.address])
        await until(lambda: bool(jammed(s, lambda key: 0.0)))
        graph: dict[str, Any] = {f"t-{i}": (add,) for i in range(PARTS)}
        assert await c.gather(c.get(graph, list(graph), sync=False)) == [1] * PARTS
        await Event("closing time").set()
        assert await service == 1
        await stop(s, plugin)
    (run,) = advisor.runs
    assert {record.worker for record in run.tasks} == {str(b.name)}


@cluster_test(worker_kwargs=QUICK)
async def test_who_is_jammed_and_who_is_idle(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    future = c.submit(wait_for, "go", key="long-0", workers=[a.address])
    there = s.workers[a.address]
    await until(lambda: jammed(s, lambda key: 0.0) == [there])
    assert jammed(s, lambda key: 1000.0) == [], "it is meant to take that long"
    assert jammed(s, lambda key: 0.0, ours={"long-0"}) == []
    assert idle(s) == [s.workers[b.address]]
    await Event("go").set()
    assert await future == 1
    await until(lambda: not there.processing)
    assert jammed(s, lambda key: 0.0) == []
    assert set(idle(s)) == set(s.workers.values())
