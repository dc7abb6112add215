"""A plan is followed: planned tasks run where and in the order planned; results stay the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from distributed import Client, Event, Scheduler, Worker, wait
from distributed.core import Status

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.plans import portions
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.execute.dask.advisors import FixedAdvisor, HangingAdvisor
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

THREE = [("127.0.0.1", 1)] * 3
NO_STEALING = {"distributed.scheduler.work-stealing": False}


@cluster_test(nthreads=THREE)
async def test_every_task_runs_where_the_director_was_told(
    c: Client, s: Scheduler, *workers: Worker
) -> None:
    await all_on_plan(c, s, "director")


@pytest.mark.parametrize("mode", ["director", "restrict"])
@cluster_test(nthreads=THREE, config=NO_STEALING)
async def test_so_does_every_task_of_a_plan_that_comes_by_portions(
    c: Client, s: Scheduler, *workers: Worker, mode: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(portions, "PORTION", 7)
        await all_on_plan(c, s, mode)


@cluster_test(nthreads=THREE, config=NO_STEALING)
async def test_every_task_runs_where_restrictions_say(
    c: Client, s: Scheduler, *workers: Worker
) -> None:
    await all_on_plan(c, s, "restrict")


async def all_on_plan(c: Client, s: Scheduler, mode: str) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode=mode, advisor=advisor)
    session = await start(s, plugin)
    assert session.mode == mode
    graph, keys = layers(width=20, depth=3)
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 20
    await stop(s, plugin)
    (run,) = advisor.runs
    planned = {a.task: a.worker for a in advisor.plans[0].assignments}
    assert run.mode == "planned"
    assert {record.task: record.worker for record in run.tasks} == planned
    assert len(run.tasks) == 60
    assert session.counters.placed == 60


@cluster_test(nthreads=[("127.0.0.1", 1)])
async def test_a_worker_takes_its_tasks_in_the_planned_order(
    c: Client, s: Scheduler, worker: Worker
) -> None:
    """Ten tasks wait for one gate; the plan wants them in reversed order of their names."""

    class Backwards(FixedAdvisor):
        def schedule(self, graph: Any, cluster: Any) -> Any:
            names = ["gate", *sorted((n for n in graph.names if n != "gate"), reverse=True)]
            return Schedule(
                Assignment(name, cluster.names[0], float(i), float(i + 1))
                for i, name in enumerate(names)
            )

    advisor = Backwards()
    plugin = OrchestratorPlugin(advisor=advisor)
    await start(s, plugin)
    graph: dict[str, Any] = {"gate": (wait_for, "open")}
    graph |= {f"after-{i}": (add, "gate") for i in range(10)}
    futures = c.get(graph, list(graph), sync=False)
    await Event("open").set()
    await wait(futures)
    await stop(s, plugin)
    ran = [record.task for record in advisor.runs[0].tasks]
    assert ran == ["gate", *(f"after-{i}" for i in reversed(range(10)))]


@pytest.mark.parametrize("mode", ["director", "restrict"])
@cluster_test()
async def test_user_priority_and_generation_are_kept(
    c: Client, s: Scheduler, a: Worker, b: Worker, mode: str
) -> None:
    plugin = OrchestratorPlugin(mode=mode, advisor=FixedAdvisor())
    session = await start(s, plugin)
    graph: dict[str, Any] = {"gate": (wait_for, "go")} | {f"t-{i}": (add, "gate") for i in range(9)}
    futures = c.map(wait_for, ["go"] * 9, key=[f"m-{i}" for i in range(9)], priority=7)
    others = c.get(graph, list(graph), sync=False)
    await until(lambda: len(s.tasks) == 19)
    for i in range(9):
        user, _, rank = s.tasks[f"m-{i}"].priority
        assert (user, rank) == (-7, session.steering.follower.slot(f"m-{i}").rank)
    first, second = s.tasks["m-0"].priority[1], s.tasks["t-0"].priority[1]
    assert first <= second, "the earlier graph keeps its precedence"
    await Event("go").set()
    assert await c.gather(futures + others) == [1] * 10 + [2] * 9


@cluster_test(config={"distributed.scheduler.worker-saturation": 1.0})
async def test_a_late_plan_moves_what_has_not_started(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """The advisor answers after the graph has begun: queued and waiting tasks follow the plan."""
    advisor = HangingAdvisor()
    advisor.rule = lambda graph, cluster: dict.fromkeys(graph.names, cluster.names[1])
    plugin = OrchestratorPlugin(advisor=advisor, plan_wait=0.0)
    await start(s, plugin)
    graph: dict[str, Any] = {f"first-{i}": (wait_for, "late") for i in range(20)}
    graph |= {f"second-{i}": (add, f"first-{i}") for i in range(20)}
    futures = c.get(graph, list(graph), sync=False)
    await until(lambda: len(s.queued) == 18)
    started = {key for key, ts in s.tasks.items() if ts.state == "processing"}
    assert len(started) == 2
    advisor.go.set()
    await until(lambda: not s.queued)
    await Event("late").set()
    assert await c.gather(futures) == [1] * 20 + [2] * 20
    await stop(s, plugin)
    (run,) = advisor.runs
    assert run.mode == "planned"
    assert run.notes == ("the plan came late: 2 tasks had started",)
    target = advisor.plans[0].assignments[0].worker
    assert {r.worker for r in run.tasks if r.task not in started} == {target}


@cluster_test()
async def test_the_same_graph_can_be_planned_again(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor)
    await start(s, plugin)
    graph, keys = layers()
    for _ in range(2):
        futures = c.get(graph, keys, sync=False)
        assert await c.gather(futures) == [result()] * 6
        await wait(futures)
        del futures
        await until(lambda: not s.tasks)
    await stop(s, plugin)
    assert len(advisor.asked) == 2
    assert advisor.asked[0][0] == advisor.asked[1][0]
    assert [len(run.tasks) for run in advisor.runs] == [18, 18]


@pytest.mark.parametrize("mode", ["director", "restrict"])
@cluster_test(config=NO_STEALING)
async def test_a_key_that_is_asked_for_again_is_planned_anew(
    c: Client, s: Scheduler, a: Worker, b: Worker, mode: str
) -> None:
    """x -> y -> z on worker a; z is held, y is lost with it, and then asked for again: on b."""
    targets = iter([str(a.name), str(b.name)])
    advisor = FixedAdvisor(lambda graph, _: dict.fromkeys(graph.names, next(targets)))
    plugin = OrchestratorPlugin(mode=mode, advisor=advisor, min_tasks=2)
    await start(s, plugin)
    graph: dict[str, Any] = {"x-0": (add,), "y-0": (add, "x-0"), "z-0": (add, "y-0")}
    held = c.get(graph, ["z-0"], sync=False)
    assert await c.gather(held) == [3]
    await until(lambda: s.tasks["y-0"].state == "released")
    again = c.get({**graph, "w-0": (add, "y-0")}, ["w-0"], sync=False)
    assert await c.gather(again) == [3]
    await stop(s, plugin)
    ran = [{record.task: record.worker for record in run.tasks} for run in advisor.runs]
    assert ran == [
        dict.fromkeys(["x-0", "y-0", "z-0"], str(a.name)),
        dict.fromkeys(["x-0", "y-0", "w-0"], str(b.name)),
    ]
    assert not any(ts.worker_restrictions for ts in s.tasks.values())


@cluster_test()
async def test_nobody_steals_a_planned_task_until_the_plugin_goes(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """All is planned on a, one task blocks it, and b is idle."""
    stealing: Any = s.extensions["stealing"]
    advisor = FixedAdvisor(lambda graph, _: dict.fromkeys(graph.names, str(a.name)))
    plugin = OrchestratorPlugin(mode="director", advisor=advisor)
    await start(s, plugin)
    futures = c.map(wait_for, ["steal"] * 20, key=[f"t-{i}" for i in range(20)])
    await until(lambda: len(s.workers[a.address].processing) == 20)
    assert not stealing.key_stealable
    stealing.balance()
    assert len(s.workers[a.address].processing) == 20
    await stop(s, plugin)
    assert {ts.key for ts in stealing.key_stealable} == {f"t-{i}" for i in range(20)}
    stealing.balance()
    await until(lambda: b.state.executing_count == 1)
    await Event("steal").set()
    assert await c.gather(futures) == [1] * 20


@cluster_test(nthreads=THREE)
async def test_a_plan_with_too_small_a_gain_is_not_followed(
    c: Client, s: Scheduler, *workers: Worker
) -> None:
    advisor = FixedAdvisor(predicted=9.8, default_predicted=10.0)
    plugin = OrchestratorPlugin(advisor=advisor, min_gain=0.05)
    session = await start(s, plugin)
    graph, keys = layers()
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    assert len(session.steering.follower) == 0
    await stop(s, plugin)
    (run,) = advisor.runs
    assert run.mode == "observed"
    assert "too small a gain" in run.reason
    assert run.plan is not None
    assert not run.plan.adopted


class Thrifty(FixedAdvisor):
    """What it plans is cheap, and takes longer."""

    def promised(self, schedule: Schedule) -> Advice:
        return replace(super().promised(schedule), objective=Objective.of("price"))


@cluster_test(nthreads=THREE)
async def test_a_plan_for_the_price_need_not_be_sooner(
    c: Client, s: Scheduler, *workers: Worker
) -> None:
    advisor = Thrifty(predicted=9.8, default_predicted=3.0)
    plugin = OrchestratorPlugin(advisor=advisor, min_gain=0.05)
    await start(s, plugin)
    graph, keys = layers()
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    await stop(s, plugin)
    assert advisor.runs[0].mode == "planned"


@cluster_test(nthreads=THREE)
async def test_a_plan_that_the_advisor_does_not_adopt_is_kept_but_not_followed(
    c: Client, s: Scheduler, *workers: Worker
) -> None:
    advisor = FixedAdvisor(adopted=False, reason="too little is known")
    plugin = OrchestratorPlugin(advisor=advisor)
    session = await start(s, plugin)
    graph, keys = layers()
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    assert len(session.steering.follower) == 0
    await stop(s, plugin)
    assert (advisor.runs[0].mode, advisor.runs[0].reason) == ("observed", "too little is known")


@cluster_test()
async def test_a_small_graph_is_left_to_dask(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor, min_tasks=19)
    await start(s, plugin)
    graph, keys = layers()
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    await stop(s, plugin)
    assert advisor.asked == []
    assert advisor.runs[0].reason == "fewer than 19 tasks may be placed"


@cluster_test(worker_kwargs={"memory_limit": 0})  # a memory monitor would wake the worker up
async def test_a_paused_worker_gets_nothing_and_keeps_its_place(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """All is planned on one worker, which pauses: Dask runs the tasks elsewhere."""
    advisor = FixedAdvisor(lambda graph, cluster: dict.fromkeys(graph.names, str(a.name)))
    plugin = OrchestratorPlugin(advisor=advisor)
    await start(s, plugin)
    graph: dict[str, Any] = {"gate": (wait_for, "pause")}
    graph |= {f"t-{i}": (add, "gate") for i in range(9)}
    futures = c.get(graph, list(graph), sync=False)
    await until(lambda: a.state.executing_count == 1)
    a.status = Status.paused
    await until(lambda: s.workers[a.address].status is Status.paused)
    await Event("pause").set()
    assert await c.gather(futures) == [1] + [2] * 9
    await stop(s, plugin)
    by_task = {record.task: record.worker for record in advisor.runs[0].tasks}
    assert by_task.pop("gate") == str(a.name)
    assert set(by_task.values()) == {str(b.name)}
