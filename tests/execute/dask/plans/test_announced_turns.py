"""Announced runs on one cluster take turns, whatever generations Dask gives their tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from distributed import Client, Event, Scheduler, Worker

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.dask import client
from orchestrator_core.execute.dask.graphs import generation
from orchestrator_core.execute.dask.graphs.generation import Generation, Generations
from orchestrator_core.execute.dask.session import Session
from orchestrator_core.execute.directives import Slot
from orchestrator_core.execute.live import LivePlan
from orchestrator_core.execute.live.glance import NO_CLAIM, claim_of
from orchestrator_core.execute.turns import Claim
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.execute.dask.advisors import FixedAdvisor, plugin_of
from tests.execute.dask.cluster import NO_MEMORY, add, cluster_test, start, stop, until, wait_for
from tests.execute.dask.spy import Spy

ONE = {**NO_MEMORY, "nthreads": [("127.0.0.1", 1)]}


class Flows:
    """Announces runs on one worker, and submits their tasks one by one, none of one generation."""

    def __init__(self, c: Client, s: Scheduler, session: Session, worker: Worker) -> None:
        self.client, self.scheduler, self.session, self.worker = c, s, session, worker
        self.futures: list[Any] = []

    async def announce(self, run: str, names: list[str], objective: str = "makespan") -> None:
        """Its tasks, of a second each, one after the other; the plan is read when this returns."""
        before = len(self.session.control)
        cluster = await client.fetch_cluster(self.client)
        graph = TaskGraph.from_columns(names, kinds=["t"] * len(names))
        here = str(self.worker.name)
        rows = [Assignment(name, here, i, i + 1.0) for i, name in enumerate(names)]
        instance, plan = Instance(graph, cluster, np.ones((len(names), 1))), Schedule(rows)
        live = LivePlan(instance, plan, plan.makespan, Objective.of(objective))
        tasks = [(name, name, "t") for name in names]
        slots = {name: Slot(here, rank) for rank, name in enumerate(names)}
        await client.begin(self.client, run, tasks, slots, None, live)
        await until(lambda: len(self.session.control) > before)

    def submit(self, names: list[str], **options: Any) -> None:
        for i, name in enumerate(names):
            self.futures.append(self.client.submit(add, i, key=name, fifo_timeout="0ms", **options))

    async def both(self, run: str, number: int, **options: str) -> None:
        names = [f"{run}-{i}" for i in range(number)]
        await self.announce(run, names, **options)
        self.submit(names)

    async def order(self) -> list[str]:
        """Whose tasks end, one after the other, once the only thread is free."""
        spy = Spy([])
        self.scheduler.plugins["spy"] = spy  # type: ignore[assignment]
        await until(lambda: len(self.worker.state.tasks) == len(self.futures) + 1)
        await Event("go").set()
        await self.client.gather(self.futures)
        self.scheduler.validate_state()
        return [str(key).split("-")[0] for key in spy.ended if key != "gate"]


async def busy(c: Client, s: Scheduler, a: Worker) -> tuple[Flows, Any, Any]:
    """A task that waits has the only thread."""
    plugin = plugin_of(FixedAdvisor())
    session = await start(s, plugin)
    gate = c.submit(wait_for, "go", key="gate")
    await until(lambda: a.state.executing_count == 1)
    return Flows(c, s, session, a), plugin, gate


@cluster_test(**ONE)
async def test_the_run_with_the_least_work_goes_first(c: Client, s: Scheduler, a: Worker) -> None:
    flows, plugin, _gate = await busy(c, s, a)
    for run, number in (("long", 6), ("middle", 4), ("equal", 4), ("short", 2)):
        await flows.both(run, number)
    expected = ["short"] * 2 + ["middle"] * 4 + ["equal"] * 4 + ["long"] * 6
    assert await flows.order() == expected
    assert flows.session.counters.faults == 0
    await stop(s, plugin)


@cluster_test(**ONE)
async def test_a_run_that_was_announced_first_may_submit_last(
    c: Client, s: Scheduler, a: Worker
) -> None:
    """Turns are given where plans come, before anybody knows of a generation."""
    flows, plugin, _gate = await busy(c, s, a)
    short, long = [f"short-{i}" for i in range(2)], [f"long-{i}" for i in range(5)]
    await flows.announce("long", long)
    await flows.announce("short", short)
    flows.submit(long)
    flows.submit(short)
    assert await flows.order() == ["short"] * 2 + ["long"] * 5
    await stop(s, plugin)


@cluster_test(**ONE)
async def test_dates_come_before_work(c: Client, s: Scheduler, a: Worker) -> None:
    flows, plugin, _gate = await busy(c, s, a)
    await flows.both("short", 2)
    await flows.both("dated", 5, objective="tardiness")
    assert await flows.order() == ["dated"] * 5 + ["short"] * 2
    await stop(s, plugin)


@cluster_test(**ONE)
async def test_what_a_run_goes_on_with_comes_behind_what_it_began_with(
    c: Client, s: Scheduler, a: Worker
) -> None:
    """Its second epoch has less work, and still comes last of all that is its own."""
    flows, plugin, _gate = await busy(c, s, a)
    for part, number in (("first", 5), ("other", 8), ("second", 2)):
        names = [f"{part}-{i}" for i in range(number)]
        await flows.announce("other" if part == "other" else "one", names)
        flows.submit(names)
    assert await flows.order() == ["first"] * 5 + ["second"] * 2 + ["other"] * 8
    await stop(s, plugin)


@cluster_test(**ONE)
async def test_after_a_minute_who_came_first_goes_first(
    c: Client, s: Scheduler, a: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generation, "WINDOW", 0.0)
    flows, plugin, _gate = await busy(c, s, a)
    await flows.both("long", 5)
    await flows.both("short", 2)
    assert await flows.order() == ["long"] * 5 + ["short"] * 2
    await stop(s, plugin)


@cluster_test(**ONE)
async def test_the_users_priority_comes_before_turns(c: Client, s: Scheduler, a: Worker) -> None:
    flows, plugin, _gate = await busy(c, s, a)
    await flows.both("short", 2)
    urgent = [f"urgent-{i}" for i in range(5)]
    await flows.announce("urgent", urgent)
    flows.submit(urgent, priority=3)
    assert await flows.order() == ["urgent"] * 5 + ["short"] * 2
    await stop(s, plugin)


def test_generations_are_shared_for_a_minute_and_the_first_task_names_them() -> None:
    generations = Generations()
    first, second = generations.join(1000.0), generations.join(1059.9)
    later = generations.join(1060.0)
    assert first is second
    assert later is not first
    assert first.of(7.0) == 7.0
    assert second.of(9.0) == 7.0
    assert later.number is None
    assert Generation().of(0.0) == 0.0


def test_a_claim_is_read_off_a_plan() -> None:
    instance = Instance.from_arrays(np.ones((2, 1)), [], worker_names="a")
    rows = [Assignment("t0", "a", 0.0, 1.0), Assignment("t1", "a", 3.0, 4.5)]
    plan = LivePlan(instance, Schedule(rows), 4.5)
    assert claim_of(plan.to_json()) == Claim(False, 2.5)
    dated = LivePlan(instance, Schedule(rows), 4.5, Objective.of("makespan,tardiness"))
    assert claim_of(dated.to_json()) == Claim(True, 2.5)
    graph = TaskGraph.build()
    for name in ("t0", "t1"):
        graph.task(name, seconds=1.0, deadline=600.0)
    due = LivePlan(Instance.price(graph.done(), instance.cluster), Schedule(rows), 4.5)
    assert claim_of(due.to_json()) == Claim(True, 2.5)
    assert LivePlan.from_json(due.to_json()).course(()).is_dated
    for text in (b"", b"{}", b"\xff", b'{"schedule": {"assignments": [[1]]}}'):
        assert claim_of(text) == NO_CLAIM
