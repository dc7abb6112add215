"""Whatever fails on our side, Dask computes what it would have computed without us."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from distributed import Client, Event, Scheduler, Worker

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.graphs import snapshot
from orchestrator_core.execute.dask.plans import line
from orchestrator_core.execute.dask.session import Session
from orchestrator_core.execute.dask.steer import lookout, standstill
from orchestrator_core.execute.dask.steer.alarm import Alarm
from orchestrator_core.execute.dask.steer.director import Director
from orchestrator_core.execute.dask.steer.restrict import Restrictor
from orchestrator_core.execute.dask.steer.steering import Steering
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.follower import Follower
from orchestrator_core.plan.schedule import Schedule
from tests.execute.dask.advisors import (
    FixedAdvisor,
    HangingAdvisor,
    NonsenseAdvisor,
    RaisingAdvisor,
    plugin_of,
)
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

OVERRIDDEN = {"is_rootish", "decide_worker_non_rootish", "steal_time_ratio", "send_all"}


def boom(*arguments: Any, **keywords: Any) -> Any:
    raise RuntimeError("boom")


def overrides(scheduler: Scheduler) -> set[str]:
    stealing = scheduler.extensions["stealing"]
    return OVERRIDDEN & (vars(scheduler).keys() | vars(stealing).keys())


async def compute(c: Client, tag: str = "t") -> None:
    graph, keys = layers(tag=tag)
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6


@pytest.mark.parametrize("hook", ["new_graph", "transition", "add_worker", "remove_worker"])
@pytest.mark.parametrize("mode", ["director", "restrict"])
@cluster_test()
async def test_a_failing_hook_changes_no_result(
    c: Client, s: Scheduler, a: Worker, b: Worker, mode: str, hook: str
) -> None:
    plugin = OrchestratorPlugin(mode=mode, advisor=FixedAdvisor())
    session = await start(s, plugin)
    setattr(session, hook, boom)
    await compute(c, "x")
    async with Worker(s.address, nthreads=1):
        await compute(c, "y")
    await compute(c, "z")
    if hook in ("new_graph", "transition"):
        assert session.mode == "off", "two faults are enough"
        assert session.steering.follower.disabled is not None
        assert overrides(s) == set()
        assert not any(ts.worker_restrictions for ts in s.tasks.values())
    else:
        assert session.steering.follower.disabled is None, "one fault is forgiven"


@pytest.mark.parametrize("answer", ["_is_rootish", "_decide", "_send_all", "_steal_time_ratio"])
@cluster_test()
async def test_an_override_that_fails_itself_is_answered_by_the_original(
    c: Client, s: Scheduler, a: Worker, b: Worker, answer: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Director, answer, boom)
        plugin = OrchestratorPlugin(mode="director", advisor=FixedAdvisor())
        session = await start(s, plugin)
        await compute(c, "x")
        await compute(c, "y")
        s.extensions["stealing"].steal_time_ratio(s.tasks["y-0-0"])
        await until(lambda: session.mode == "off")
        assert overrides(s) == set()
        assert await c.submit(add, 2) == 3


@cluster_test()
async def test_runs_that_are_open_when_it_withdraws_do_not_stay_so_for_ever(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """From then on it is told of no task that ends; what did until then is recorded."""
    advisor = FixedAdvisor()
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    graph: dict[str, Any] = {"first": (add,), "gate": (wait_for, "go", "first")}
    future = c.get(graph, ["gate"], sync=False)
    await until(lambda: bool(session.runs) and len(session.runs[0].ended) == 1)
    for _ in range(2):
        session.fault("test", RuntimeError("broken"))
    await until(lambda: session.mode == "off" and bool(advisor.runs))
    assert session.runs == ()
    assert len(session.recorder) == 0
    (run,) = advisor.runs
    assert run.status == "cancelled"
    assert [record.task for record in run.tasks] == ["first"]
    await Event("go").set()
    assert await c.gather(future) == [1]
    await stop(s, plugin)


@pytest.mark.parametrize("withdraws", [False, True])
@cluster_test()
async def test_what_fails_while_it_leaves_keeps_nothing_else_there(
    c: Client, s: Scheduler, a: Worker, b: Worker, withdraws: bool
) -> None:
    before = set(vars(s))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Alarm, "cancel", boom)
        plugin = OrchestratorPlugin(mode="director", advisor=FixedAdvisor())
        session = await start(s, plugin)
        assert set(vars(s)) > before
        await compute(c, "x")
        if withdraws:
            for _ in range(2):
                session.fault("test", RuntimeError("broken"))
            await until(lambda: session.mode == "off")
        else:
            await stop(s, plugin)
        # That is how a plugin which withdrew hears of its removal.
        assert set(vars(s)) - {"remove_plugin"} == before
        assert await c.submit(add, 2) == 3


@pytest.mark.parametrize("question", ["planned_worker", "decide", "is_placed"])
@cluster_test()
async def test_a_failing_override_is_answered_by_the_original(
    c: Client, s: Scheduler, a: Worker, b: Worker, question: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Follower, question, boom)
        plugin = OrchestratorPlugin(mode="director", advisor=FixedAdvisor())
        session = await start(s, plugin)
        assert overrides(s) == OVERRIDDEN
        await compute(c)
        assert session.mode == "off"
        assert overrides(s) == set()
        await compute(c, "again")
    assert any(m["action"] == "disabled" for _, m in s.get_events("orchestrator"))


@pytest.mark.parametrize("owner", [Director, Restrictor])
@cluster_test()
async def test_to_withdraw_goes_on_where_a_part_of_it_fails(
    c: Client, s: Scheduler, a: Worker, b: Worker, owner: type[Director | Restrictor]
) -> None:
    mode = "director" if owner is Director else "restrict"
    plugin = OrchestratorPlugin(mode=mode, advisor=FixedAdvisor())
    session = await start(s, plugin)
    graph, keys = layers()
    graph["gate"] = (wait_for, "open")
    graph |= {key: (add, "gate", key.replace("-2-", "-1-")) for key in keys}
    futures = c.get(graph, keys, sync=False)
    await until(lambda: keys[0] in session.steering.follower)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, "release", boom)
        s.remove_plugin(plugin.name)
    await Event("open").set()
    assert await c.gather(futures) == [5] * 6
    assert overrides(s) == set()


@cluster_test()
async def test_a_directive_that_gets_lost_does_not_hang_its_task(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """What was held is to be placed, and is not: nothing runs then, and nothing else happens."""

    class Holding(FixedAdvisor):
        def promised(self, schedule: Schedule) -> Advice:
            holds = {"filler": Hold(done=frozenset({"critical"}), patience=3600.0)}
            return replace(super().promised(schedule), holds=holds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standstill, "LONGEST", 0.05)
        patch.setattr(lookout, "PERIOD", 0.05)
        patch.setattr(Steering, "_flush", lambda steering: None)
        plugin = OrchestratorPlugin(mode="director", advisor=Holding(), min_tasks=1)
        session = await start(s, plugin)
        graph = {"critical": (wait_for, "open"), "filler": (add,)}
        futures = c.get(graph, ["critical", "filler"], sync=False)
        await until(lambda: "filler" in session.steering.follower.held)
        await Event("open").set()
        assert await c.gather(futures) == [1, 1]
        assert session.counters.faults == 1
        await stop(s, plugin)


@cluster_test()
async def test_an_advisor_that_raises_costs_nothing_but_the_plan(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(advisor=RaisingAdvisor())
    session = await start(s, plugin)
    await compute(c, "x")
    await compute(c, "y")
    await compute(c, "z")
    assert session.steering.follower.disabled is not None
    assert "no advice" in session.steering.follower.disabled
    await stop(s, plugin)


@cluster_test()
async def test_an_advisor_that_hangs_delays_nothing(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = HangingAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor, plan_wait=0.01)
    session = await start(s, plugin)
    with mock.patch.object(line, "PATIENCE", 0.0):
        await compute(c, "x")
        await compute(c, "y")
    assert not session.advisory.is_ready
    assert session.steering.follower.disabled is None
    await stop(s, plugin)
    assert {run.reason for run in advisor.runs} == {
        "the plan was not ready in time",
        "the advisor is still busy or warming up",
    }
    advisor.go.set()


@cluster_test()
async def test_a_plan_that_comes_after_the_end_is_dropped(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = HangingAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor, plan_wait=0.0)
    session = await start(s, plugin)
    await compute(c)
    await until(lambda: bool(advisor.runs))
    advisor.go.set()
    await until(lambda: session.advisory.is_ready)
    assert len(session.steering.follower) == 0
    assert session.steering.follower.disabled is None
    await stop(s, plugin)


@pytest.mark.parametrize("kind", ["task", "worker", "twice"])
@cluster_test()
async def test_nonsense_is_not_followed(
    c: Client, s: Scheduler, a: Worker, b: Worker, kind: str
) -> None:
    advisor = NonsenseAdvisor(kind)
    plugin = OrchestratorPlugin(advisor=advisor)
    session = await start(s, plugin)
    await compute(c, "x")
    assert len(session.steering.follower) == 0
    assert session.steering.follower.disabled is None
    await compute(c, "y")
    assert session.steering.follower.disabled is not None, (
        "an advisor that does so twice is not asked again"
    )
    await stop(s, plugin)
    assert "cannot be followed" in advisor.runs[0].reason
    assert advisor.runs[0].plan is None


@cluster_test(config={"orchestrator.advisor": "no_such_module:nothing"})
async def test_without_an_advisor_dask_goes_on(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin()
    session = await start(s, plugin)
    assert not session.advisory.is_ready
    await compute(c)
    await stop(s, plugin)


class Cold(FixedAdvisor):
    def warm_up(self) -> None:
        raise RuntimeError("too cold")


@cluster_test()
async def test_an_advisor_that_cannot_warm_up_only_records(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = Cold()
    plugin = OrchestratorPlugin(advisor=advisor)
    await start(s, plugin)
    await compute(c)
    await stop(s, plugin)
    assert advisor.asked == []
    assert [run.mode for run in advisor.runs] == ["observed"]


@pytest.mark.parametrize("broken", ["Roster", "Steering", "Advisory"])
@cluster_test()
async def test_a_plugin_that_cannot_start_is_as_good_as_none(
    c: Client, s: Scheduler, a: Worker, b: Worker, broken: str
) -> None:
    before = set(vars(s)), set(s.handlers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"orchestrator_core.execute.dask.session.{broken}", boom)
        plugin = OrchestratorPlugin(advisor=FixedAdvisor())
        await s.register_scheduler_plugin(plugin, idempotent=True)
    assert plugin.session is None
    assert (set(vars(s)), set(s.handlers)) == before
    await compute(c)


def often(call: Callable[..., Any], every: int) -> Callable[..., Any]:
    """Fails each time that `every` divides the number of the call."""
    count = 0

    def sometimes(*arguments: Any, **keywords: Any) -> Any:
        nonlocal count
        count += 1
        if count % every == 0:
            raise RuntimeError(f"call {count}")
        return call(*arguments, **keywords)

    return sometimes


@cluster_test()
async def test_a_broken_invariant_is_not_forgiven(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(mode="director", advisor=FixedAdvisor())
    session = await start(s, plugin)
    graph, keys = layers()
    futures = c.get(graph, keys, sync=False)
    assert await c.gather(futures) == [result()] * 6
    session.steering.follower._stages.popitem()
    async with Worker(s.address, nthreads=1):
        await until(lambda: session.steering.carrier is None)
    assert "broken invariant" in (session.steering.follower.disabled or "")
    assert overrides(s) == set()
    await compute(c, "after")


@pytest.mark.parametrize("every", [1, 2, 7, 30])
@cluster_test(nthreads=[("127.0.0.1", 1)] * 3)
async def test_faults_in_the_middle_of_a_graph(
    c: Client, s: Scheduler, *workers: Worker, every: int
) -> None:
    """Everything of ours fails now and then; validation sees no broken state."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "transition", often(Session.transition, every))
        patch.setattr(Follower, "decide", often(Follower.decide, every))
        patch.setattr(snapshot, "take", often(snapshot.take, 2 * every))
        plugin = OrchestratorPlugin(mode="director", advisor=FixedAdvisor())
        await start(s, plugin)
        for tag in "xyz":
            await compute(c, tag)
        s.validate_state()
        s.remove_plugin(plugin.name)
    assert overrides(s) == set()
