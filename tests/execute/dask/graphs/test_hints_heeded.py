"""Where hints say that tasks may run, they run, whoever places them; and nothing hangs for it."""

from __future__ import annotations

from typing import Any

import dask
import pytest
from dask.delayed import delayed
from distributed import Client, Event, Scheduler, Worker, get_worker
from distributed.core import Status

from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.session import Session
from tests.execute.dask.advisors import Declining, FixedAdvisor
from tests.execute.dask.cluster import cluster_test, start, stop, until

TWO = [("127.0.0.1", 2)] * 2


def where(number: int) -> str:
    return str(get_worker().name)


def gated(number: int, gate: str) -> str:
    Event(gate).wait()  # type: ignore[no-untyped-call]
    return where(number)


def waiting_on(worker: Worker) -> list[Any]:
    """Six tasks for this worker, which wait at the gate."""
    with dask.annotate(orchestrator={"workers": [str(worker.name)]}):
        return [delayed(gated)(i, "gate", dask_key_name=f"t-{i}") for i in range(6)]


def hinted(tasks: int, prefix: str, **hint: Any) -> list[Any]:
    with dask.annotate(orchestrator=hint):
        return [delayed(where)(i, dask_key_name=f"{prefix}-{i}") for i in range(tasks)]


async def places(c: Client, tasks: list[Any]) -> set[str]:
    return set(await c.gather(c.compute(tasks, optimize_graph=False)))


def restricted(s: Scheduler) -> list[str]:
    return [str(task.key) for task in s.tasks.values() if task.worker_restrictions]


async def left(s: Scheduler, mode: str = "director") -> tuple[Session, OrchestratorPlugin]:
    """Nothing is planned."""
    plugin = OrchestratorPlugin(mode=mode, advisor=Declining())
    return await start(s, plugin), plugin


@pytest.mark.parametrize("tasks", [1, 12])
@pytest.mark.parametrize("mode", ["director", "restrict"])
@cluster_test(nthreads=TWO)
async def test_what_is_left_to_dask_runs_where_hints_say(
    c: Client, s: Scheduler, a: Worker, b: Worker, mode: str, tasks: int
) -> None:
    session, plugin = await left(s, mode)
    for worker in (a, b):
        name = str(worker.name)
        assert await places(c, hinted(tasks, f"on-{name}", workers=[name])) == {name}
    if tasks > 1:
        assert session.last_run is not None
        assert "heeds" not in session.last_run.reason
    await until(lambda: not session.steering.heeding.hints)
    await stop(s, plugin)


@cluster_test(nthreads=TWO)
async def test_so_does_what_needs_resources(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    _, plugin = await left(s)
    async with Worker(s.address, name="gpu", nthreads=1, resources={"GPU": 2}):
        assert await places(c, hinted(8, "g", resources={"GPU": 1})) == {"gpu"}
        assert await places(c, hinted(8, "more", resources={"GPU": 3})) != {"gpu"}
    await stop(s, plugin)


@cluster_test(nthreads=TWO)
async def test_dates_are_for_plans_alone(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    session, plugin = await left(s)
    await places(c, hinted(8, "d", workers=[str(a.name)], due=5.0))
    assert session.last_run is not None
    assert session.last_run.reason.endswith("; Dask heeds no hints but where tasks may run")
    await stop(s, plugin)


@cluster_test(nthreads=TWO)
async def test_who_only_observes_heeds_nothing(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    session, plugin = await left(s, "observe")
    futures = c.compute(hinted(8, "o", workers=[str(a.name)]), optimize_graph=False)
    assert not restricted(s)
    await c.gather(futures)
    assert session.last_run is not None
    assert session.last_run.reason.endswith("; Dask heeds no hints")
    await stop(s, plugin)


@cluster_test(nthreads=TWO)
async def test_a_plan_takes_the_place_of_hints(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor()
    session = await start(s, plugin := OrchestratorPlugin(mode="director", advisor=advisor))
    await places(c, hinted(9, "p", workers=[str(a.name)]))
    planned = {row.task: row.worker for row in advisor.plans[0].assignments}
    assert session.last_run is not None
    ran = {record.task: record.worker for _, record in session.last_run.records()}
    assert ran == planned
    assert not restricted(s)
    await stop(s, plugin)


@cluster_test(nthreads=TWO)
async def test_where_none_of_the_workers_is_left_it_runs_anywhere(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    _, plugin = await left(s)
    gate, tasks = Event("gate"), waiting_on(a)
    futures = c.compute(tasks, optimize_graph=False)
    await until(lambda: "t-0" in s.tasks and s.tasks["t-0"].state == "processing")
    await a.close(executor_wait=False)
    await gate.set()  # type: ignore[no-untyped-call]
    assert set(await c.gather(futures)) == {str(b.name)}
    await stop(s, plugin)


@pytest.mark.parametrize("hint", [{"workers": ["gpu"]}, {"resources": {"GPU": 1}}])
@cluster_test(nthreads=TWO)
async def test_a_worker_that_has_paused_is_not_waited_for(
    c: Client, s: Scheduler, a: Worker, b: Worker, hint: dict[str, Any]
) -> None:
    """It may never go on. Once it does, it is meant again."""
    _, plugin = await left(s)
    async with Worker(s.address, name="gpu", nthreads=1, resources={"GPU": 1}) as gpu:
        there = s.workers[gpu.address]
        await until(lambda: there.status is Status.running)
        first = c.submit(gated, 0, "gate", key="first", workers=[a.address])
        with dask.annotate(orchestrator=hint):
            waiting = [delayed(lambda x: where(0))(first, dask_key_name=f"w-{i}") for i in range(4)]
        futures = c.compute(waiting, optimize_graph=False)
        await until(lambda: "w-0" in s.tasks)
        gpu.status = Status.paused
        await until(lambda: there.status is Status.paused)
        await Event("gate").set()  # type: ignore[no-untyped-call]
        assert set(await c.gather(futures)) <= {str(a.name), str(b.name)}
        gpu.status = Status.running
        await until(lambda: there in s.running)
        assert await places(c, hinted(4, "again", **hint)) == {"gpu"}
    await stop(s, plugin)


@cluster_test(nthreads=TWO)
async def test_a_worker_that_joins_may_be_the_one_that_is_meant(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """What was not sent by then goes to it."""
    session, plugin = await left(s)
    gate = Event("gate")
    first = c.submit(gated, 0, "gate", key="first", pure=False)
    with dask.annotate(orchestrator={"workers": ["late"]}):
        tasks = [delayed(where)(i, dask_key_name=f"l-{i}") for i in range(4)]
        waiting = [delayed(lambda x, y: x)(task, first) for task in tasks]
    futures = c.compute(waiting, optimize_graph=False)
    await until(lambda: len(session.steering.heeding.hints) == 8)
    async with Worker(s.address, name="late", nthreads=1) as late:
        await until(
            lambda: set(s.tasks[futures[0].key].worker_restrictions or ()) == {late.address}
        )
        await gate.set()  # type: ignore[no-untyped-call]
        await c.gather(futures)
        assert all(s.tasks[each.key].who_has == {s.workers[late.address]} for each in futures)
    await stop(s, plugin)


@cluster_test(nthreads=TWO)
async def test_nothing_of_it_is_left_when_the_plugin_goes(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    _, plugin = await left(s)
    gate, tasks = Event("gate"), waiting_on(a)
    with dask.annotate(workers=[b.address], orchestrator={"workers": [str(a.name)]}):
        tasks.append(delayed(gated)(6, "gate", dask_key_name="pinned"))
    futures = c.compute(tasks, optimize_graph=False)
    await until(lambda: "t-0" in s.tasks and s.tasks["t-0"].state == "processing")
    assert len(restricted(s)) == 7
    await stop(s, plugin)
    assert restricted(s) == ["pinned"]
    await gate.set()  # type: ignore[no-untyped-call]
    assert (await c.gather(futures))[-1] == str(b.name)
