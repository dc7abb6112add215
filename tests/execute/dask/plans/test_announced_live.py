"""Announced runs are full live runs: mended, watched, and left as they were found."""

from __future__ import annotations

import logging
import threading
from typing import Any

import numpy as np
import pytest
from distributed import Client, Event, Scheduler, Worker
from distributed.core import Status

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.dask import client
from orchestrator_core.execute.dask.plans import announcing
from orchestrator_core.execute.dask.session import Session
from orchestrator_core.execute.dask.watch import rpc
from orchestrator_core.execute.directives import Hold, Slot
from orchestrator_core.execute.live import LivePlan
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.execute.dask.advisors import FixedAdvisor, plugin_of
from tests.execute.dask.cluster import NO_MEMORY, add, cluster_test, start, stop, until, wait_for


def planned(
    cluster: Cluster, tasks: int, *workers: str, seconds: float = 0.3, **more: Any
) -> LivePlan:
    """Independent tasks ``t0 ...``, on these workers in turn."""
    names = [f"t{i}" for i in range(tasks)]
    graph = TaskGraph.from_columns(names, kinds=["t"] * tasks)
    instance = Instance(graph, cluster, np.full((tasks, len(cluster)), seconds))
    rows = []
    for i, name in enumerate(names):
        start = seconds * (i // len(workers))
        rows.append(Assignment(name, workers[i % len(workers)], start, start + seconds))
    plan = Schedule(rows)
    return LivePlan(instance, plan, plan.makespan, **more)


async def announce(c: Client, plan: LivePlan, holds: dict[str, Hold] | None = None) -> None:
    """The tasks of the plan as keys ``k-t0 ...`` of the run "run"."""
    runs = plan.schedule.assignments
    tasks = [(f"k-{run.task}", run.task, "t") for run in runs]
    slots = {f"k-{run.task}": Slot(run.worker, rank) for rank, run in enumerate(runs)}
    await client.begin(c, "run", tasks, slots, holds, plan)


async def ran_on(c: Client) -> dict[str, str]:
    return {row.record.task: row.record.worker for row in await client.records(c, "run")}


async def begun(s: Scheduler, **options: Any) -> tuple[Session, Any]:
    plugin = plugin_of(FixedAdvisor(), **options)
    return await start(s, plugin), plugin


@cluster_test(**NO_MEMORY)
async def test_tasks_leave_a_worker_that_is_late(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """The first task should take 0.3 s and takes for ever; those behind it run elsewhere."""
    session, plugin = await begun(s)
    first = str(a.name)
    await announce(c, planned(await client.fetch_cluster(c), 8, first))
    late = c.submit(wait_for, "late", key="k-t0")
    others = [c.submit(add, i, key=f"k-t{i}") for i in range(1, 8)]
    assert await c.gather(others) == [1 + i for i in range(1, 8)]
    assert s.tasks["k-t0"].state == "processing", "the first still blocks its worker"
    assert session.counters.moved > 0
    await Event("late").set()
    assert await late == 1
    places = await ran_on(c)
    assert places.pop("t0") == first
    assert set(places.values()) == {str(b.name)}
    assert len(session.control) == 0, "its last task has ended"
    await stop(s, plugin)
    s.validate_state()


@cluster_test(**NO_MEMORY)
async def test_tasks_whose_readers_have_come_still_move(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """The graph of a reader names what it reads; that has been sent long since, and is planned."""
    session, plugin = await begun(s)
    await announce(c, planned(await client.fetch_cluster(c), 8, str(a.name)))
    late = c.submit(wait_for, "late", key="k-t0")
    others = [c.submit(add, i, key=f"k-t{i}") for i in range(1, 8)]
    reader = c.submit(add, *others, key="reader")
    assert await reader == 1 + sum(1 + i for i in range(1, 8))
    assert s.tasks["k-t0"].state == "processing", "the first still blocks its worker"
    assert session.counters.moved > 0
    await Event("late").set()
    assert await late == 1
    await stop(s, plugin)


@cluster_test(**NO_MEMORY)
async def test_what_a_lost_worker_had_is_placed_by_the_plan_again(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Nothing is given up: all open tasks have a slot on a worker that is there."""
    session, plugin = await begun(s)
    cluster = await client.fetch_cluster(c)
    await announce(c, planned(cluster, 6, str(a.name), str(b.name), seconds=60.0))
    futures = [c.submit(wait_for, "go", key=f"k-t{i}") for i in range(6)]
    await until(lambda: len(s.workers[a.address].processing) == 3)
    await until(lambda: len(session.control) == 1)
    await s.remove_worker(a.address, stimulus_id="test", close=False)
    slots = session.steering.follower.slots
    await until(lambda: {slot.worker for slot in slots.values()} == {str(b.name)})
    assert len(slots) == 6
    assert session.counters.replans > 0
    await Event("go").set()
    assert await c.gather(futures) == [1] * 6
    assert set((await ran_on(c)).values()) == {str(b.name)}
    await stop(s, plugin)


@cluster_test(**NO_MEMORY)
async def test_tasks_that_have_not_come_yet_move_too(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """The plan's worker goes before any task has been submitted."""
    session, plugin = await begun(s)
    await announce(c, planned(await client.fetch_cluster(c), 4, str(a.name)))
    await until(lambda: len(session.control) == 1)
    await a.close()
    slots = session.steering.follower.slots
    await until(lambda: {slot.worker for slot in slots.values()} == {str(b.name)})
    futures = [c.submit(add, i, key=f"k-t{i}") for i in range(4)]
    assert await c.gather(futures) == [1, 2, 3, 4]
    await stop(s, plugin)


@cluster_test(**NO_MEMORY)
async def test_a_hung_worker_is_taken_off(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    session, plugin = await begun(s, hung_after=0.01)
    a.periodic_callbacks["heartbeat"].stop()
    await announce(c, planned(await client.fetch_cluster(c), 4, str(a.name), seconds=0.01))
    futures = [c.submit(wait_for, "late", key=f"k-t{i}") for i in range(4)]
    await until(lambda: a.address not in s.workers)
    assert session.counters.hung_removed == 1
    await Event("late").set()
    assert await c.gather(futures) == [1] * 4
    await stop(s, plugin)


@cluster_test(**NO_MEMORY)
async def test_a_hold_is_kept(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    session, plugin = await begun(s)
    holds = {"k-t1": Hold(done=frozenset({"k-t0"}), patience=60.0)}
    await announce(c, planned(await client.fetch_cluster(c), 2, str(a.name), seconds=60.0), holds)
    second = c.submit(add, 1, key="k-t1")
    await until(lambda: "k-t1" in session.steering.follower.held)
    first = c.submit(add, 1, key="k-t0")
    assert await c.gather([first, second]) == [2, 2]
    assert not session.steering.follower.held
    await stop(s, plugin)


@cluster_test(**NO_MEMORY)
async def test_a_user_pin_is_not_moved(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    """A repair gives slots to what the plan may place, and to nothing else."""
    session, plugin = await begun(s)
    await announce(c, planned(await client.fetch_cluster(c), 4, str(a.name)))
    futures = [c.submit(wait_for, "go", key=f"k-t{i}") for i in range(3)]
    pinned = c.submit(add, 1, key="k-t3", workers=[a.address])
    await until(lambda: session.counters.moved > 0)
    assert "k-t3" not in session.steering.follower
    await Event("go").set()
    assert await c.gather([*futures, pinned]) == [1, 1, 1, 2]
    assert (await ran_on(c))["t3"] == str(a.name)
    await stop(s, plugin)


@cluster_test(**NO_MEMORY)
async def test_each_epoch_has_its_own_clock(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    """What ended in an epoch is no news to the next, and is not late by its clock."""
    session, plugin = await begun(s)
    cluster = await client.fetch_cluster(c)
    await client.begin(c, "run", [("early", "early", "t")])
    await c.submit(add, key="early")
    await announce(c, planned(cluster, 2, str(a.name), seconds=60.0))
    await until(lambda: len(session.control) == 1)
    futures = [c.submit(wait_for, "go", key=f"k-t{i}") for i in range(2)]
    (epoch,) = session.control.steered
    await Event("go").set()
    assert await c.gather(futures) == [1, 1]
    assert [row[0] for row in epoch.ended] == ["k-t0", "k-t1"]
    starts = [row.started_at for row in await client.records(c, "run")][1:]
    assert [epoch.started_at + row[3] for row in epoch.ended] == pytest.approx(starts)
    await stop(s, plugin)


@pytest.mark.parametrize("what", ["no JSON", "other tasks", "too large", "not compiled"])
@cluster_test(**NO_MEMORY)
async def test_a_plan_that_cannot_be_read_costs_only_the_mending(
    c: Client, s: Scheduler, a: Worker, b: Worker, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    session, plugin = await begun(s)
    plan = planned(await client.fetch_cluster(c), 3 if what == "other tasks" else 2, str(a.name))
    text = b"{" if what == "no JSON" else plan.to_json()
    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.INFO):
        patch.setattr(rpc, "PLAN_BYTES", 10 if what == "too large" else rpc.PLAN_BYTES)
        patch.setattr(announcing, "is_missing", lambda part: what == "not compiled")
        await c.scheduler.orchestrator_begin(  # type: ignore[union-attr]
            run_id="run",
            tasks=[[f"k-t{i}", f"t{i}", "t"] for i in range(2)],
            slots=[[f"k-t{i}", str(a.name), i, 0] for i in range(2)],
            plan=text,
        )
        if what != "too large":
            await until(lambda: "is followed, not mended" in caplog.text)
    levels = {each.levelno for each in caplog.records if "not mended" in each.message}
    passes = {"too large": set[int](), "not compiled": {logging.INFO}}
    assert levels == passes.get(what, {logging.WARNING})
    assert await c.gather([c.submit(add, i, key=f"k-t{i}") for i in range(2)]) == [1, 2]
    assert set((await ran_on(c)).values()) == {str(a.name)}
    assert len(session.control) == session.counters.faults == 0
    await stop(s, plugin)


@pytest.mark.parametrize("how", ["end", "restart"])
@cluster_test(**NO_MEMORY)
async def test_a_run_that_is_over_before_its_plan_is_read_is_not_watched(
    c: Client, s: Scheduler, a: Worker, b: Worker, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans are read one after the other: that of the second run, after that of the first."""
    session, plugin = await begun(s)
    over, read = threading.Event(), announcing.read_plan
    monkeypatch.setattr(announcing, "read_plan", lambda *of: (over.wait(80), read(*of))[1])
    plan = planned(await client.fetch_cluster(c), 1, str(a.name), seconds=60.0)
    await client.begin(c, "first", [("a", "t0", "t")], {"a": Slot(str(a.name), 0)}, None, plan)
    if how == "end":
        await client.end(c, "first")
    else:
        session.restart()
    await client.begin(c, "second", [("b", "t0", "t")], {"b": Slot(str(a.name), 0)}, None, plan)
    over.set()
    await until(lambda: len(session.control) > 0)
    assert [run.snapshot.flow for run in session.control.steered] == ["second"]
    await stop(s, plugin)


@pytest.mark.parametrize("how", ["end", "restart", "stop"])
@cluster_test(**NO_MEMORY)
async def test_nothing_is_watched_when_the_run_is_over(
    c: Client, s: Scheduler, a: Worker, b: Worker, how: str
) -> None:
    session, plugin = await begun(s)
    plan = planned(await client.fetch_cluster(c), 2, str(a.name), seconds=60.0)
    a.status = b.status = Status.paused
    await announce(c, plan)
    await until(lambda: len(session.control) == 1)
    if how == "end":
        await client.end(c, "run")
    elif how == "restart":
        session.restart()
    else:
        await stop(s, plugin)
    await until(lambda: len(session.control) == 0)
    assert len(session.announcements) == (how == "restart")
    if how != "stop":
        assert len(session.steering.follower) == 0
        await stop(s, plugin)


def test_a_plan_travels_as_it_is() -> None:
    cluster = Instance.from_arrays(np.ones((1, 2)), [], worker_names="ab").cluster
    plan = planned(cluster, 3, "b", objective=Objective(("price", "makespan")), thrifty=True)
    back = LivePlan.from_json(plan.to_json())
    assert back.instance == plan.instance
    assert list(back.schedule.assignments) == list(plan.schedule.assignments)
    assert (back.predicted, back.objective, back.thrifty, back.prefetch) == (
        plan.predicted,
        plan.objective,
        True,
        False,
    )
