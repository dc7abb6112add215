"""Where the director gives way, and what it tells of itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from distributed import Client, Event, Scheduler, Worker
from distributed.metrics import time

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.steer import lookout, standstill
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.follower import Follower
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Schedule
from tests.execute.dask.advisors import FixedAdvisor
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
from tests.execute.dask.test_faults import boom

HOLDS = {"filler": Hold(sent=frozenset({"critical"}), patience=60.0)}


def on_first(graph: TaskGraph, cluster: Cluster) -> dict[str, str]:
    return dict.fromkeys(graph.names, cluster.names[0])


@cluster_test()
async def test_a_restriction_written_after_the_plan_is_obeyed(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """As a shuffle writes them while it runs."""
    plugin = OrchestratorPlugin(mode="director", advisor=FixedAdvisor(on_first), min_tasks=1)
    session = await start(s, plugin)
    graph = {"gate": (wait_for, "open"), "bound": (add, "gate"), "free": (add, "gate")}
    futures = c.get(graph, ["bound", "free"], sync=False)
    await until(lambda: "bound" in session.steering.follower)
    s.set_restrictions({"bound": [b.address]})
    await Event("open").set()
    assert await c.gather(futures) == [2, 2]
    placed = {key: {ws.address for ws in s.tasks[key].who_has or ()} for key in ("bound", "free")}
    assert placed == {"bound": {b.address}, "free": {a.address}}
    assert "bound" not in session.steering.follower, "it is Dask's from now on"
    assert session.steering.follower.check() == ()
    await stop(s, plugin)


class HoldingAdvisor(FixedAdvisor):
    """Plans all on the first worker, where one task waits for another."""

    def promised(self, schedule: Schedule) -> Advice:
        return replace(super().promised(schedule), holds=HOLDS)


@cluster_test()
async def test_a_held_task_that_is_decided_about_twice_counts_once(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = HoldingAdvisor(on_first)
    plugin = OrchestratorPlugin(mode="director", advisor=advisor, min_tasks=1, plan_wait=20.0)
    session = await start(s, plugin)
    graph = {"gate": (wait_for, "open"), "critical": (add, "gate"), "filler": (add,)}
    futures = c.get(graph, ["critical", "filler"], sync=False)
    await until(lambda: "filler" in session.steering.follower.held)
    for _ in range(3):
        s.transitions({"filler": "released"}, stimulus_id="again")
    assert session.steering.tasks.state("filler") == "no-worker"
    assert session.counters.held == 1
    await Event("open").set()
    assert await c.gather(futures) == [2, 1]
    await stop(s, plugin)


@pytest.mark.parametrize("question", ["decide", "is_placed"])
@cluster_test()
async def test_faults_in_replaced_methods_are_counted_and_end_everything(
    c: Client, s: Scheduler, a: Worker, b: Worker, question: str
) -> None:
    before = time()
    with pytest.MonkeyPatch.context() as patch:
        plugin = OrchestratorPlugin(mode="director", advisor=FixedAdvisor())
        session = await start(s, plugin)
        await until(lambda: a.address in session.meters and b.address in session.meters)
        patch.setattr(Follower, question, boom)
        graph, keys = layers()
        assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    assert session.mode == "off"
    assert session.counters.faults >= 2
    assert before <= (session.counters.withdrawn_at or 0.0) <= time()
    await until(lambda: a.address not in session.meters)
    assert len(session.control) == 0


@cluster_test()
async def test_a_hold_ends_when_nothing_runs(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    """It waits for a task that needs it: that would last for an hour."""

    class Circular(FixedAdvisor):
        def promised(self, schedule: Schedule) -> Advice:
            hold = Hold(done=frozenset({"last"}), patience=3600.0)
            holds = dict.fromkeys(("first", "second", "last"), hold)
            return replace(super().promised(schedule), holds=holds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standstill, "LONGEST", 0.05)
        patch.setattr(lookout, "PERIOD", 0.05)
        plugin = OrchestratorPlugin(mode="director", advisor=Circular(on_first), min_tasks=1)
        session = await start(s, plugin)
        graph = {"first": (add,), "second": (add, "first"), "last": (add, "second")}
        assert await c.gather(c.get(graph, ["last"], sync=False)) == [3]
        assert session.counters.held == 1, "such a plan holds nothing again"
        assert session.counters.faults == 0, "that it was a bad plan is no failure of ours"
        await stop(s, plugin)
