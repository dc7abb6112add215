"""Tasks wait for a plan that is being made: they alone, for a moment, and never for ever."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from distributed import Client, Event, Scheduler, Worker

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.session import Session
from orchestrator_core.graph import Cluster, TaskGraph
from tests.execute.dask.advisors import FixedAdvisor, HangingAdvisor, plugin_of
from tests.execute.dask.cluster import (
    add,
    cluster_test,
    layers,
    result,
    start,
    stop,
    until,
    wait_for,
)


async def waiting(
    c: Client, s: Scheduler, plugin: OrchestratorPlugin, width: int = 6
) -> tuple[Session, list[Any]]:
    """The layers' graph, whose tasks wait for the plan that the advisor thinks about."""
    session = await start(s, plugin)
    graph, keys = layers(width)
    futures = c.get(graph, keys, sync=False)
    await until(lambda: session.steering.tasks.state("t-0-0") == "no-worker")
    return session, futures


@cluster_test()
async def test_a_plan_that_takes_a_while_still_places_every_task(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = HangingAdvisor()
    plugin = plugin_of(advisor, plan_wait=60)
    session, futures = await waiting(c, s, plugin)
    assert await c.submit(add, 1) == 2, "others do not wait"
    advisor.go.set()
    assert await c.gather(futures) == [result()] * 6
    assert len(session.steering.awaiting) == 0
    await stop(s, plugin)
    planned = {row.task: row.worker for row in advisor.plans[0].assignments}
    assert {record.task: record.worker for record in advisor.runs[0].tasks} == planned
    assert advisor.runs[0].notes == ()


@cluster_test()
async def test_a_plan_that_takes_too_long_is_not_waited_for(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = HangingAdvisor()
    plugin = plugin_of(advisor, plan_wait=0.05)
    await start(s, plugin)
    graph, keys = layers()
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    advisor.go.set()
    await stop(s, plugin)
    assert advisor.runs[0].mode == "observed"


@pytest.mark.parametrize("how", ["remove", "faults"])
@cluster_test()
async def test_nothing_waits_for_a_plan_when_we_leave(
    c: Client, s: Scheduler, a: Worker, b: Worker, how: str
) -> None:
    advisor = HangingAdvisor()
    plugin = plugin_of(advisor, plan_wait=600)
    session, futures = await waiting(c, s, plugin)
    if how == "remove":
        s.remove_plugin(plugin.name)
    else:
        session.fault("test", RuntimeError("one"))
        session.fault("test", RuntimeError("two"))
    assert await c.gather(futures) == [result()] * 6
    advisor.go.set()


@cluster_test()
async def test_a_graph_that_is_declined_goes_on_in_dasks_own_order(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = HangingAdvisor()
    advisor.promise = {"adopted": False}
    plugin = plugin_of(advisor, plan_wait=600)
    session = await start(s, plugin)
    tasks = session.steering.tasks
    keys = [f"w-{i}" for i in range(20)]
    futures = c.get(dict.fromkeys(keys, (wait_for, "gate")), keys, sync=False)
    await until(lambda: {tasks.state(key) for key in keys} == {"no-worker"})
    advisor.go.set()
    await until(lambda: len(session.steering.awaiting) == 0)
    sent = {key for key in keys if tasks.state(key) == "processing"}
    assert 0 < len(sent) < len(keys), "a worker is given two, the others wait"
    first = sorted(keys, key=lambda key: s.tasks[key].priority)[: len(sent)]
    assert sent == set(first)
    await Event("gate").set()
    assert await c.gather(futures) == [add()] * len(keys)
    await stop(s, plugin)


@cluster_test()
async def test_a_graph_that_is_declined_goes_on_as_dask_would(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = HangingAdvisor()
    advisor.promise = {"adopted": False}
    plugin = plugin_of(advisor, plan_wait=600)
    session, futures = await waiting(c, s, plugin, width=20)
    advisor.go.set()
    await until(lambda: len(session.steering.awaiting) == 0)
    assert await c.gather(futures) == [result()] * 20
    await stop(s, plugin)
    assert advisor.runs[0].mode == "observed"


async def whole_run(c: Client, s: Scheduler, advisor: FixedAdvisor) -> None:
    """Until it is written."""
    before = len(advisor.runs)
    graph, keys = layers()
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    await until(lambda: not s.tasks)
    await until(lambda: len(advisor.runs) == before + 1)


@cluster_test()
async def test_nobody_waits_again_for_an_answer_that_was_no(
    c: Client, s: Scheduler, a: Worker, b: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A declined graph is asked about again when its run is over, and planned from then on."""
    monkeypatch.setattr("orchestrator_core.execute.dask.plans.planning.RESTS", 0.0)
    advisor = FixedAdvisor(adopted=False)
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    asked = []
    for round_ in range(4):
        await whole_run(c, s, advisor)
        reflected = session.advisory._reflected
        await until(lambda r=reflected: r is None or r.done())
        await until(lambda: session.planning._declined._reasons != {} or advisor.promise == {})
        asked.append(len(advisor.asked))
        if round_ == 1:
            advisor.promise = {}
    await stop(s, plugin)
    assert [run.mode for run in advisor.runs] == ["observed", "observed", "observed", "planned"]
    assert asked == [1, 2, 3, 4]
    assert advisor.runs[1].plan is None, "it was left to Dask without being asked about"


@cluster_test()
async def test_thinking_about_what_is_over_rests_between_short_runs(
    c: Client, s: Scheduler, a: Worker, b: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator_core.execute.dask.plans.planning.RESTS", 1e9)
    advisor = FixedAdvisor(adopted=False)
    plugin = plugin_of(advisor)
    await start(s, plugin)
    for round_ in range(4):
        await whole_run(c, s, advisor)
        if round_ == 1:  # what was thought about it is known by now
            await until(lambda: plugin.session.planning._rests_until > 0)  # type: ignore[union-attr]
    await stop(s, plugin)
    assert len(advisor.asked) == 2, "once before the first run, once after the second"


@cluster_test()
async def test_what_is_found_after_the_run_is_not_lost_when_the_plugin_goes(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Removing the plugin waits for the runs to be written, not for what is still thought about."""
    go, found = threading.Event(), threading.Event()

    class Thoughtful(FixedAdvisor):
        def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
            def refine() -> Advice:
                go.wait()
                assert not self.closed
                found.set()
                return Advice(None, "nothing better")

            return replace(super().advise(graph, cluster, flow), refine=refine)

    advisor = Thoughtful()
    plugin = plugin_of(advisor)
    await start(s, plugin)
    graph, keys = layers()
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    await until(lambda: not s.tasks)
    await stop(s, plugin)
    assert len(advisor.runs) == 1
    assert not advisor.closed
    go.set()
    await until(lambda: advisor.closed == 1)
    assert found.is_set()
