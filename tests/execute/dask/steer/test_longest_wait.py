"""Dask fails what stands ready for longer than a user wants it to: we keep nothing that long."""

from __future__ import annotations

from typing import Any

from distributed import Client, Event, Scheduler, Worker

from orchestrator_core.execute.directives import Hold
from tests.execute.dask.advisors import HangingAdvisor, PricedAdvisor, all_on_first, plugin_of
from tests.execute.dask.cluster import (
    NO_MEMORY,
    add,
    cluster_test,
    layers,
    result,
    start,
    stop,
    until,
    wait_for,
)

BRIEF = {
    "distributed.scheduler.no-workers-timeout": "800ms",
    "distributed.admin.system-monitor.gil.enabled": False,
}


@cluster_test(**NO_MEMORY, config=BRIEF, nthreads=[("127.0.0.1", 3)])
async def test_a_hold_ends_before_dask_gives_the_task_up(
    c: Client, s: Scheduler, a: Worker
) -> None:
    """What the task is held for runs all the while, so that nothing stands still."""
    holds = {"filler": Hold(done=frozenset({"gate"}), patience=3600.0)}
    plugin = plugin_of(PricedAdvisor(all_on_first, seconds=600.0, holds=holds))
    session = await start(s, plugin)
    graph: dict[str, Any] = {"gate": (wait_for, "open"), "first": (wait_for, "planned")}
    graph["filler"] = (add, "first")
    gate, filler = c.get(graph, ["gate", "filler"], sync=False)
    await until(lambda: "filler" in session.steering.follower.to_hold)
    await Event("planned").set()
    assert await filler == 2
    assert session.counters.held == 1
    await Event("open").set()
    assert await gate == 1
    await stop(s, plugin)


@cluster_test(config=BRIEF)
async def test_a_plan_is_not_waited_for_until_dask_gives_the_tasks_up(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = HangingAdvisor()
    plugin = plugin_of(advisor, plan_wait=60)
    await start(s, plugin)
    graph, keys = layers()
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    advisor.go.set()
    await stop(s, plugin)
