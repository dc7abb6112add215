"""Tasks that were announced and will not come, or come by another plan."""

from __future__ import annotations

from typing import Any

import numpy as np
from distributed import Client, Event, Scheduler, Worker

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.dask import client
from orchestrator_core.execute.directives import Hold, Slot
from orchestrator_core.execute.live import LivePlan
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.execute.dask.advisors import FixedAdvisor, plugin_of
from tests.execute.dask.cluster import NO_MEMORY, add, cluster_test, start, stop, until, wait_for


def planned(cluster: Cluster, names: str, worker: str, seconds: float = 60.0) -> LivePlan:
    """Independent tasks, one after the other on that worker."""
    graph = TaskGraph.from_columns(list(names), kinds=["t"] * len(names))
    instance = Instance(graph, cluster, np.full((len(names), len(cluster)), seconds))
    rows = [
        Assignment(name, worker, seconds * i, seconds * (i + 1)) for i, name in enumerate(names)
    ]
    return LivePlan(instance, Schedule(rows), seconds * len(names))


async def announce(c: Client, plan: LivePlan, **more: Any) -> None:
    rows = plan.schedule.assignments
    slots = {f"key-{row.task}": Slot(row.worker, rank) for rank, row in enumerate(rows)}
    tasks = [(f"key-{row.task}", row.task, "t") for row in rows]
    await client.begin(c, "run", tasks, slots, plan=plan, **more)


@cluster_test(**NO_MEMORY)
async def test_nobody_waits_for_what_does_not_come(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """`a` is held back for `b` for a minute; `b` and `c` are said to come, and do not."""
    plugin = plugin_of(FixedAdvisor())
    session = await start(s, plugin)
    plan = planned(await client.fetch_cluster(c), "abc", str(a.name))
    hold = Hold(sent=frozenset({"key-b"}), patience=60.0)
    await announce(c, plan, holds={"key-a": hold})
    await until(lambda: len(session.control) == 1)
    future = c.submit(add, 1, key="key-a")
    await until(lambda: "key-a" in session.steering.follower.held)
    await client.begin(c, "run", [("key-d", "d", "t")], gone=["key-b", "key-c", "unknown"])
    assert await future == 2
    assert await c.submit(add, 2, key="key-d") == 3
    assert set(session.steering.follower.slots) <= {"key-a"}
    assert len(session.control) == 0, "its last task has ended"
    assert {row.record.task for row in await client.records(c, "run")} == {"a", "d"}
    assert session.counters.faults == 0
    await stop(s, plugin)
    s.validate_state()


@cluster_test(**NO_MEMORY)
async def test_what_has_come_is_not_gone(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    plugin = plugin_of(FixedAdvisor())
    session = await start(s, plugin)
    plan = planned(await client.fetch_cluster(c), "ab", str(a.name))
    await announce(c, plan)
    futures = [c.submit(wait_for, "go", key=f"key-{name}") for name in "ab"]
    await until(lambda: len(session.steering.follower.slots) == len(s.tasks) == 2)
    await client.begin(c, "run", [], gone=["key-a", "key-b"])
    assert set(session.steering.follower.slots) == {"key-a", "key-b"}
    await Event("go").set()
    assert await c.gather(futures) == [1, 1]
    assert {row.record.worker for row in await client.records(c, "run")} == {str(a.name)}
    await stop(s, plugin)


@cluster_test(**NO_MEMORY)
async def test_what_is_announced_again_follows_the_later_plan_alone(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """The first plan is mended when its worker is lost, and leaves `b` where the second has it."""
    plugin = plugin_of(FixedAdvisor())
    session = await start(s, plugin)
    cluster = await client.fetch_cluster(c)
    await announce(c, planned(cluster, "ab", str(a.name)))
    await until(lambda: len(session.control) == 1)
    await announce(c, planned(cluster, "b", str(b.name)))
    await until(lambda: len(session.control) == 2)
    slots = session.steering.follower.slots
    assert slots["key-b"].worker == str(b.name)
    replans = session.counters.replans
    await a.close()
    await until(lambda: session.counters.replans >= replans + 2)
    assert {slot.worker for slot in slots.values()} == {str(b.name)}
    assert slots["key-b"].rank == 2, "behind the first plan, which would have it at 1"
    assert await c.gather([c.submit(add, i, key=f"key-{n}") for i, n in enumerate("ab")]) == [1, 2]
    assert session.counters.faults == 0
    await stop(s, plugin)
