"""A good guest: what the user or others asked for is left alone, and nothing is left behind."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest
from distributed import Client, Event, Scheduler, Worker, wait
from distributed.core import Status

from orchestrator_core.execute.dask import OrchestratorPlugin, client
from orchestrator_core.execute.dask.workers.meters import NAME
from orchestrator_core.graph.amounts import Amounts
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import (
    add,
    cluster_test,
    hooks,
    layers,
    result,
    start,
    stop,
    until,
    wait_for,
)


def restrictions(scheduler: Scheduler) -> dict[Any, Any]:
    return {
        key: (ts.worker_restrictions, ts.host_restrictions, ts.loose_restrictions)
        for key, ts in scheduler.tasks.items()
        if ts.worker_restrictions or ts.host_restrictions or ts.loose_restrictions
    }


@cluster_test()
async def test_a_plugin_that_is_started_twice_starts_once(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """As Dask does with what a preload registers before the scheduler itself has started."""
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    session = await start(s, plugin)
    await plugin.start(s)
    assert plugin.session is session
    assert await c.submit(add, key="x") == 1
    await stop(s, plugin)
    assert "decide_worker_non_rootish" not in vars(s)


@pytest.mark.parametrize("how", ["removed", "closed", "stopped", "disabled"])
@pytest.mark.parametrize("mode", ["director", "restrict", "observe"])
@cluster_test()
async def test_nothing_is_left_behind(
    c: Client, s: Scheduler, a: Worker, b: Worker, mode: str, how: str
) -> None:
    """However the plugin goes, in the middle of a graph, all is as it was before."""
    stealing = s.extensions["stealing"]

    def looks() -> Any:
        ours = {"orchestrator_ready", "orchestrator_begin"} & s.handlers.keys()
        methods = {"is_rootish", "decide_worker_non_rootish", "remove_plugin"} & vars(s).keys()
        return (ours, methods, "steal_time_ratio" in vars(stealing), restrictions(s))

    before = looks()
    plugin = OrchestratorPlugin(mode=mode, advisor=FixedAdvisor())
    session = await start(s, plugin)
    graph: dict[str, Any] = {"gate": (wait_for, "half")}
    graph |= {f"t-{i}": (add, "gate") for i in range(20)}
    futures = c.get(graph, list(graph), sync=False)
    planned = 0 if mode == "observe" else 21
    await until(lambda: len(s.tasks) == 21 and len(session.steering.follower) == planned)
    assert looks() != before
    if how == "removed":
        s.remove_plugin(plugin.name)
    elif how == "closed":
        await plugin.close()
    elif how == "stopped":
        assert await c.scheduler.orchestrator_stop(timeout=10)  # type: ignore[union-attr]
        assert plugin.name not in s.plugins
    else:
        session.fault("test", RuntimeError("one"))
        session.fault("test", RuntimeError("two"))
        await until(lambda: session.steering.carrier is None)
        s.remove_plugin(plugin.name)
    assert looks() == before
    assert len(session.steering.follower) == 0
    await Event("half").set()
    assert await c.gather(futures) == [1] + [2] * 20
    assert await session.advisory.wait_closed(10)
    advisor: Any = plugin.advisor
    assert advisor.closed == 1


@pytest.mark.parametrize("mode", ["director", "restrict"])
@cluster_test()
async def test_what_a_user_pinned_stays_pinned(
    c: Client, s: Scheduler, a: Worker, b: Worker, mode: str
) -> None:
    """The plan wants everything on b; the user wants some of it on a."""
    advisor = FixedAdvisor(lambda graph, _: dict.fromkeys(graph.names, str(b.name)))
    plugin = OrchestratorPlugin(mode=mode, advisor=advisor, min_tasks=2)
    session = await start(s, plugin)
    pinned = c.map(add, range(8), key=[f"p-{i}" for i in range(8)], workers=[a.address])
    assert await c.gather(pinned) == [1 + i for i in range(8)]
    assert len(session.steering.follower) == 0
    assert {ts.processing_on or next(iter(ts.who_has)) for ts in s.tasks.values()} == {
        s.workers[a.address]
    }
    assert all(ts.worker_restrictions == {a.address} for ts in s.tasks.values())
    assert not any(ts.loose_restrictions for ts in s.tasks.values())
    await stop(s, plugin)
    assert restrictions(s).keys() == {f"p-{i}" for i in range(8)}


@cluster_test()
async def test_a_pin_that_came_after_ours_is_not_taken_away(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(mode="restrict", advisor=FixedAdvisor())
    await start(s, plugin)
    graph: dict[str, Any] = {"gate-0": (wait_for, "pin")}
    graph |= {f"t-{i}": (add, "gate-0") for i in range(9)}
    futures = c.get(graph, list(graph), sync=False)
    await until(lambda: len(s.tasks) == 10)
    assert len(restrictions(s)) == 10
    s.set_restrictions(worker={"t-0": {a.address}})
    s.remove_plugin(plugin.name)
    assert restrictions(s).keys() == {"t-0"}
    await Event("pin").set()
    assert await c.gather(futures) == [1] + [2] * 9


@cluster_test(nthreads=[("127.0.0.1", 1), ("127.0.0.1", 1, {"resources": {"GPU": 1}})])
async def test_resources_are_seen_but_left_to_dask(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor(lambda graph, _: dict.fromkeys(graph.names, str(a.name)))
    plugin = OrchestratorPlugin(advisor=advisor, min_tasks=1)
    session = await start(s, plugin)
    import dask
    from dask.delayed import delayed

    with dask.annotate(resources={"GPU": 1}):
        special = [delayed(add)(i, dask_key_name=f"gpu-{i}") for i in range(4)]
    total = delayed(sum)(special, dask_key_name="total-0")
    future = c.compute(total, optimize_graph=False)
    assert await future == sum(1 + i for i in range(4))
    assert all(f"gpu-{i}" not in session.steering.follower for i in range(4))
    await stop(s, plugin)
    (run,) = advisor.runs
    graph, cluster, _ = advisor.asked[0]
    assert graph.task("gpu-0").resources == Amounts({"GPU": 1})
    assert [worker.resources for worker in cluster.workers] == [Amounts(), Amounts({"GPU": 1})]
    ran = {record.task: record.worker for record in run.tasks}
    assert {ran[f"gpu-{i}"] for i in range(4)} == {str(b.name)}


class Counter:
    def __init__(self) -> None:
        self.n = 0

    def increment(self) -> int:
        self.n += 1
        return self.n


@cluster_test()
async def test_actors_are_not_planned(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor, min_tasks=1)
    session = await start(s, plugin)
    futures = [c.submit(Counter, actor=True, key=f"actor-{i}") for i in range(3)]
    actors = await c.gather(futures)
    assert [await actor.increment() for actor in actors] == [1, 1, 1]
    assert len(session.steering.follower) == 0
    await stop(s, plugin)


@cluster_test()
async def test_a_second_client_is_served_as_well(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor)
    await start(s, plugin)
    async with Client(s.address, asynchronous=True, set_as_default=False) as other:
        graph, keys = layers(tag="mine")
        twin, twins = layers(tag="yours")
        mine, yours = c.get(graph, keys, sync=False), other.get(twin, twins, sync=False)
        shared = other.get(graph, keys, sync=False)
        assert await c.gather(mine) == await other.gather(yours) == [result()] * 6
        assert await other.gather(shared) == [result()] * 6
    await stop(s, plugin)
    assert sorted(run.flow for run in advisor.runs) == ["mine", "yours"]


@cluster_test()
async def test_the_plugin_is_registered_once(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    first = OrchestratorPlugin(advisor=FixedAdvisor())
    await start(s, first)
    await s.register_scheduler_plugin(OrchestratorPlugin(mode="observe"), idempotent=True)
    assert s.plugins["orchestrator"] is first
    await stop(s, first)


@pytest.mark.parametrize("name", ["orchestrator", "another"])
@cluster_test()
async def test_of_two_plugins_that_come_at_once_one_is_at_work(
    c: Client, s: Scheduler, a: Worker, b: Worker, name: str
) -> None:
    """As when two clients do the same at the same moment, or under names of their own."""
    before = hooks(s)
    plugins = [OrchestratorPlugin(advisor=FixedAdvisor()) for _ in range(2)]
    names = ("orchestrator", name)
    await asyncio.gather(
        *(
            s.register_scheduler_plugin(plugin, name=each, idempotent=True)
            for plugin, each in zip(plugins, names, strict=True)
        )
    )
    first, second = plugins
    assert s.plugins["orchestrator"] is first
    assert first.session is not None
    assert second.session is None
    assert await c.submit(add, key="x") == 1
    for each in set(names):
        s.remove_plugin(each)
    assert hooks(s) == before
    await start(s, second)
    await stop(s, second)
    assert hooks(s) == before


@cluster_test()
async def test_workers_have_been_told_when_the_plugin_is_gone(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    assert await client.ensure_plugin(c, advisor=FixedAdvisor())
    await until(lambda: {NAME} <= a.plugins.keys() & b.plugins.keys())
    assert await client.remove_plugin(c)
    assert NAME not in a.plugins.keys() | b.plugins.keys()


@cluster_test()
async def test_a_live_plugin_can_be_pickled(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    plugin = OrchestratorPlugin(mode="observe", min_tasks=3, advisor=FixedAdvisor())
    await start(s, plugin)
    copy = pickle.loads(pickle.dumps(plugin))
    assert copy.options == plugin.options
    assert copy.session is None
    s.remove_plugin(plugin.name)


@pytest.mark.parametrize("switch", ["environment", "configuration", "argument"])
@cluster_test()
async def test_the_kill_switch(c: Client, s: Scheduler, a: Worker, b: Worker, switch: str) -> None:
    import dask

    advisor = FixedAdvisor()
    before = set(vars(s)) | {"remove_plugin"}
    with pytest.MonkeyPatch.context() as patch, dask.config.set():
        if switch == "environment":
            patch.setenv("ORCHESTRATOR_MODE", "off")
        elif switch == "configuration":
            dask.config.set({"orchestrator.mode": "off"})
        mode = "off" if switch == "argument" else "director"
        session = await start(s, OrchestratorPlugin(mode=mode, advisor=advisor))
        dask.config.set({"orchestrator.mode": "auto"})
    assert session.mode == "off"
    assert set(vars(s)) == before
    graph, keys = layers()
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    assert (advisor.asked, advisor.runs) == ([], [])
    answer = await c.scheduler.orchestrator_cluster()  # type: ignore[union-attr]
    assert answer["mode"] == "off"


@cluster_test()
async def test_a_restarted_scheduler_starts_afresh(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor)
    session = await start(s, plugin)
    graph, keys = layers()
    futures = c.get(graph, keys, sync=False)
    await wait(futures)
    session.restart()
    assert len(session.steering.follower) == len(session.recorder) == 0
    twin, twins = layers(tag="u")
    assert await c.gather(c.get(twin, twins, sync=False)) == [result()] * 6
    await stop(s, plugin)


@cluster_test(nthreads=[("127.0.0.1", 1)] * 3)
async def test_a_lost_worker_is_replaced_and_its_output_computed_again(
    c: Client, s: Scheduler, a: Worker, b: Worker, d: Worker
) -> None:
    """All is planned on a; a closes half-way, and another worker of that name joins."""
    name = str(a.name)
    advisor = FixedAdvisor(lambda graph, _: dict.fromkeys(graph.names, name))
    plugin = OrchestratorPlugin(mode="director", advisor=advisor)
    session = await start(s, plugin)
    graph: dict[str, Any] = {f"t-{i}": (add,) for i in range(10)}
    graph |= {"gate-0": (wait_for, "back", *[f"t-{i}" for i in range(10)])}
    graph |= {f"u-{i}": (add, "gate-0") for i in range(10)}
    futures = c.get(graph, [f"u-{i}" for i in range(10)], sync=False)
    await until(lambda: a.state.executing_count == 1 and "gate-0" in a.state.tasks)
    await until(lambda: a.state.tasks["gate-0"].state == "executing")
    await Event("back").set()
    await a.close(executor_wait=False)
    async with Worker(s.address, name=a.name, nthreads=1) as again:
        await until(lambda: s.workers[again.address].status is Status.running)
        assert await c.gather(futures) == [2] * 10
        s.validate_state()
        assert session.steering.follower.disabled is None
    await stop(s, plugin)
    assert advisor.runs[0].mode == "planned"
    assert len({record.task for record in advisor.runs[0].tasks}) == 21
