"""Adaptive clusters are as large as the plan says they are worth, and survive where it fails."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from distributed import Client, Event, LocalCluster, Scheduler, Worker
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.protocol.pickle import dumps
from distributed.utils_test import gen_test

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.dask.scaling import elastic as elastic_module
from orchestrator_core.execute.dask.scaling.downscaling import pins
from orchestrator_core.execute.dask.scaling.elastic import PLAIN, Elastic
from orchestrator_core.execute.dask.scaling.sizing import Question
from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.execute.scaling.scaling import Remaining
from orchestrator_core.graph.task import Edge, Task
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.execute.dask.advisors import PricedAdvisor, all_on_first, plugin_of
from tests.execute.dask.cluster import add, cluster_test, start, stop, until, wait_for

THREE = [("127.0.0.1", 1)] * 3
TEN = 10.0
"""Seconds that every planned task is believed to take."""

Faults = list[tuple[str, Exception]]


def run_of(scheduler: Scheduler, tasks: Sequence[str], edges: Sequence[Edge] = ()) -> Remaining:
    """These tasks, one after the other on the first worker of those that are there now."""
    cluster = Roster(scheduler).cluster()
    assert cluster is not None
    graph = TaskGraph.from_tasks([Task(name, seconds=TEN) for name in tasks], edges)
    home = cluster.names[0]
    rows = [Assignment(name, home, TEN * i, TEN * (i + 1)) for i, name in enumerate(tasks)]
    return Remaining(Instance.price(graph, cluster), Schedule(rows), keys=tasks)


def elastic_on(
    scheduler: Scheduler, runs: Callable[[], Sequence[Remaining]], faults: Faults
) -> Elastic:
    roster = Roster(scheduler)
    elastic = Elastic(
        scheduler,
        roster,
        runs,
        lambda: bool(runs()),
        lambda where, error: faults.append((where, error)),
        refresh=0.0,
    )
    elastic.install()
    return elastic


async def target_of(client: Client, seconds: str = "5s") -> int:
    """What an adaptive cluster is told, through the same door."""
    return int(await client.scheduler.adaptive_target(target_duration=seconds))  # type: ignore[union-attr]


async def told(client: Client, wanted: int) -> None:
    """Ask until the answer is `wanted`."""
    while await target_of(client) != wanted:
        await asyncio.sleep(0.002)


# --- real adaptive clusters ------------------------------------------------------------------


def small_cluster(workers: int) -> Any:
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=False,
        dashboard_address=":0",
        asynchronous=True,
    )


@gen_test(timeout=30)
async def test_a_wide_graph_makes_the_cluster_grow() -> None:
    """Eight tasks of ten seconds: Dask, which takes unknown tasks for half a second, wants one
    worker, the plan eight; four are allowed."""
    faults: Faults = []
    async with small_cluster(1) as cluster, Client(cluster, asynchronous=True) as client:
        scheduler = cluster.scheduler
        names = [f"wide-{i}" for i in range(8)]
        runs = [run_of(scheduler, names)]
        elastic = elastic_on(scheduler, lambda: runs, faults)
        futures = client.map(wait_for, ["go"] * 8, key=names)
        await until(lambda: len(scheduler.tasks) == 8)
        assert type(scheduler).adaptive_target(scheduler, 5.0) == 1
        cluster.adapt(minimum=1, maximum=4, interval="50ms")
        await until(lambda: len(scheduler.workers) == 4)
        await Event("go").set()
        assert await client.gather(futures) == [1] * 8
        elastic.uninstall()
    assert faults == []


@gen_test(timeout=30)
async def test_a_chain_makes_the_cluster_shrink_to_the_worker_that_it_is_planned_on() -> None:
    faults: Faults = []
    async with small_cluster(3) as cluster, Client(cluster, asynchronous=True) as client:
        scheduler = cluster.scheduler
        names = [f"chain-{i}" for i in range(5)]
        edges = [Edge(a, b) for a, b in pairwise(names)]
        run = run_of(scheduler, names, edges)
        home = run.instance.cluster.names[0]
        elastic = elastic_on(scheduler, lambda: [run], faults)
        address = scheduler.aliases[int(home)]
        last = client.submit(wait_for, "go", key=names[0], workers=[address])
        for name in names[1:]:
            last = client.submit(add, last, key=name)
        await until(lambda: len(scheduler.tasks) == 5)
        cluster.adapt(minimum=1, maximum=3, interval="50ms", wait_count=2)
        await until(lambda: len(scheduler.workers) == 1)
        assert [str(worker.name) for worker in scheduler.workers.values()] == [home]
        await Event("go").set()
        assert await last == 5
        elastic.uninstall()
    assert faults == []


# --- the two answers -------------------------------------------------------------------------


@cluster_test()
async def test_the_plan_answers_while_it_runs_and_dask_before_and_after(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    faults: Faults = []
    runs: list[Remaining] = []
    elastic = elastic_on(s, lambda: runs, faults)
    usual = await target_of(c)
    runs.append(run_of(s, [f"t-{i}" for i in range(6)]))
    await told(c, 6)
    assert s.adaptive_target() == 6, "who does not say how long gets the same answer"
    runs.clear()
    assert await target_of(c) == usual
    elastic.uninstall()
    assert faults == []


@cluster_test()
async def test_runs_that_end_soon_need_no_more_workers(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Six tasks, believed to take 60 s on one worker and 30 s on two: within two minutes either
    way, so the cluster stays as fast as it is, and no larger."""
    faults: Faults = []
    runs = [run_of(s, [f"t-{i}" for i in range(6)])]
    elastic = elastic_on(s, lambda: runs, faults)
    await told(c, 6)
    while await target_of(c, "2 minutes") != 2:
        await asyncio.sleep(0.002)
    elastic.uninstall()
    assert faults == []


@cluster_test(nthreads=THREE)
async def test_others_work_is_not_overlooked(c: Client, s: Scheduler, *workers: Worker) -> None:
    """The planned chain is worth one worker; the tasks of another client keep all three."""
    faults: Faults = []
    names = [f"chain-{i}" for i in range(3)]
    edges = [Edge(a, b) for a, b in pairwise(names)]
    runs = [run_of(s, names, edges)]
    elastic = elastic_on(s, lambda: runs, faults)
    await told(c, 1)
    futures = c.map(wait_for, ["go"] * 3, key=[f"other-{i}" for i in range(3)])
    await until(lambda: all(len(ws.processing) == 1 for ws in s.workers.values()))
    usual = type(s).workers_to_close(s, target=1)
    assert await target_of(c, "100ms") == 3, "half a second each, in a tenth of a second"
    assert s.workers_to_close(target=1) == usual, "Dask says who goes"
    await Event("go").set()
    await c.gather(futures)
    elastic.uninstall()
    assert faults == []


@cluster_test(nthreads=THREE)
async def test_scarce_memory_keeps_dasks_answer(c: Client, s: Scheduler, *workers: Worker) -> None:
    """A chain is worth one worker; but Dask wants twice as many where memory is 60 % full."""
    faults: Faults = []
    names = [f"chain-{i}" for i in range(3)]
    runs = [run_of(s, names, [Edge(a, b) for a, b in pairwise(names)])]
    elastic = elastic_on(s, lambda: runs, faults)
    await told(c, 1)
    kept = await c.scatter(b"x" * 1000, hash=False)
    for worker in s.workers.values():
        worker.memory_limit = 400
    assert await target_of(c) == 6
    del kept
    elastic.uninstall()
    assert faults == []


@cluster_test(nthreads=THREE)
async def test_who_goes_is_who_has_no_part_in_the_plan(
    c: Client, s: Scheduler, *workers: Worker
) -> None:
    """Both other workers are idle; Dask would close the one that the plan needs, since it holds
    nothing, and keep one that holds something for nobody."""
    faults: Faults = []
    run = run_of(s, ["t-0", "t-1"])
    home = run.instance.cluster.names[0]
    address = next(a for a, ws in s.workers.items() if str(ws.name) == home)
    others = [a for a in s.workers if a != address]
    kept = [await c.scatter(b"x" * 1000, workers=[other], hash=False) for other in others]
    elastic = elastic_on(s, lambda: [run], faults)
    await told(c, 2)
    assert len(kept) == 2
    assert type(s).workers_to_close(s, n=1) == [address]
    first = s.workers_to_close(target=2)
    assert len(first) == 1
    assert first[0] in others
    names = await c.scheduler.workers_to_close(target=1, key=None, attribute="name")  # type: ignore[union-attr]
    assert len(names) == 2
    elastic.uninstall()
    assert faults == []


@cluster_test(nthreads=THREE)
async def test_nobody_goes_who_is_busy(c: Client, s: Scheduler, *workers: Worker) -> None:
    """The chain is worth one worker, and a task of it runs on another one: closed now, that would
    have to be run again."""
    faults: Faults = []
    names = [f"chain-{i}" for i in range(3)]
    run = run_of(s, names, [Edge(a, b) for a, b in pairwise(names)])
    home = run.instance.cluster.names[0]
    busy, idle = (a for a, ws in s.workers.items() if str(ws.name) != home)
    elastic = elastic_on(s, lambda: [run], faults)
    near = {"workers": [busy], "allow_other_workers": True}
    future = c.submit(wait_for, "go", key=names[0], **near)
    await until(lambda: bool(s.workers[busy].processing))
    while elastic._answer is None:
        await target_of(c)
    assert s.workers_to_close(target=1) == [idle]
    await Event("go").set()
    assert await future == 1
    assert set(s.workers_to_close(target=1)) == {busy, idle}
    elastic.uninstall()
    assert faults == []


@cluster_test(nthreads=THREE)
async def test_what_only_dask_can_answer_is_left_to_it(
    c: Client, s: Scheduler, *workers: Worker
) -> None:
    faults: Faults = []
    runs = [run_of(s, ["t-0"])]
    elastic = elastic_on(s, lambda: runs, faults)
    await told(c, 1)
    for asked in ({}, {"n": 1, "key": lambda ws: ws.name}, {"memory_ratio": 2}, {"minimum": 2}):
        assert s.workers_to_close(**asked) == type(s).workers_to_close(s, **asked)
    elastic.uninstall()
    assert faults == []


# --- pinned tasks ----------------------------------------------------------------------------


class Hook(SchedulerPlugin):
    """As our plugin does: asks whom to spare."""

    def __init__(self, elastic: Callable[[], Elastic]) -> None:
        self.elastic = elastic

    def valid_workers_downscaling(self, scheduler: Any, workers: Any) -> Any:
        return self.elastic().spare(workers)


@cluster_test(nthreads=[("127.0.0.1", 1), ("127.0.0.1", 1, {"resources": {"GPU": 1}})])
async def test_the_only_worker_that_may_run_a_pinned_task_stays(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """The task waits, so its worker is idle; without the plan's and our own care it would go."""
    gate = c.submit(wait_for, "go", key="gate", workers=[a.address])
    pinned = c.submit(add, gate, key="pinned", resources={"GPU": 1})
    await until(lambda: "pinned" in s.tasks and s.tasks["gate"].state == "processing")
    on_b = s.workers[b.address]
    assert type(s).workers_to_close(s, n=1) == [b.address]
    assert frozenset({on_b}) in pins(s)

    faults: Faults = []
    elastic = elastic_on(s, list, faults)
    s.add_plugin(Hook(lambda: elastic), name="hook")
    assert b.address not in s.workers_to_close(n=1)
    run = run_of(s, ["gate", "pinned"], [Edge("gate", "pinned")])
    elastic.uninstall()
    elastic = elastic_on(s, lambda: [run], faults)
    while elastic._answer is None:
        await target_of(c)
    assert b.address not in s.workers_to_close(target=0)
    s.remove_plugin("hook")
    elastic.uninstall()
    await Event("go").set()
    assert await pinned == 2
    assert faults == []


@cluster_test(nthreads=THREE)
async def test_of_the_workers_that_a_task_is_pinned_to_one_stays(
    c: Client, s: Scheduler, *workers: Worker
) -> None:
    gate = c.submit(wait_for, "go", key="gate", workers=[workers[0].address])
    two = [workers[1].address, workers[2].address]
    strict = c.submit(add, gate, key="strict", workers=two)
    loose = c.submit(add, gate, key="loose", workers=[workers[0].address], allow_other_workers=True)
    await until(lambda: {"strict", "loose"} <= set(s.tasks))
    elastic = Elastic(s, Roster(s), list, lambda: False, lambda where, error: None)
    order = [s.workers[address] for address in reversed(two)]
    assert elastic.spare(order) == order[:1]
    await Event("go").set()
    assert await c.gather([strict, loose]) == [2, 2]
    assert pins(s) == set()
    assert elastic.spare(order) == order


@cluster_test(nthreads=THREE)
async def test_workers_that_go_together_stay_together(
    c: Client, s: Scheduler, *workers: Worker
) -> None:
    """Workers of one batch job: who closes the idle one ends the busy one with it."""
    first, second, third = (worker.address for worker in workers)
    job = {first: "job 1", second: "job 1", third: "job 2"}

    def of_job(worker: Any) -> str:
        return job[worker.address]

    elastic = elastic_on(s, list, [])
    s.add_plugin(Hook(lambda: elastic), name="hook")
    pinned = c.submit(wait_for, "go", key="pinned", workers=[first])
    await until(lambda: "pinned" in s.tasks and s.tasks["pinned"].state == "processing")
    assert set(s.workers_to_close(key=of_job)) == {third}
    assert set(s.workers_to_close(None, 2, of_job, 1)) == {third}
    assert set(s.workers_to_close(key=dumps(of_job))) == {third}
    assert second in s.workers_to_close(), "by themselves, they do not"
    s.remove_plugin("hook")
    elastic.uninstall()
    await Event("go").set()
    assert await pinned == 1


# --- failing and leaving ---------------------------------------------------------------------


@cluster_test()
async def test_what_fails_is_reported_and_dask_answers(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    def broken() -> Sequence[Remaining]:
        raise RuntimeError("no runs")

    faults: Faults = []
    usual = await target_of(c)
    elastic = elastic_on(s, broken, faults)
    assert await target_of(c) == usual
    assert s.workers_to_close(target=1) == type(s).workers_to_close(s, target=1)
    assert [where for where, _ in faults] == ["adaptive_target", "workers_to_close"]
    elastic.uninstall()


@cluster_test()
async def test_a_thought_that_fails_is_reported_and_dask_answers(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """The schedule names a task that the instance does not have."""
    faults: Faults = []
    usual = await target_of(c)
    run = run_of(s, ["t-0"])
    nonsense = Schedule([Assignment("no such task", run.instance.cluster.names[0], 0.0, 1.0)])
    elastic = elastic_on(s, lambda: [Remaining(run.instance, nonsense)], faults)
    while not faults:
        assert await target_of(c) == usual
    assert faults[0][0] == "elastic"
    assert "no such task" in str(faults[0][1])
    elastic.uninstall()


@cluster_test()
async def test_an_old_answer_is_no_answer(
    c: Client, s: Scheduler, a: Worker, b: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [run_of(s, [f"t-{i}" for i in range(6)])]
    usual = await target_of(c)
    elastic = elastic_on(s, lambda: runs, [])
    await told(c, 6)
    end = elastic_module.monotonic() + elastic_module.FRESH_SECONDS + 60.0
    monkeypatch.setattr(elastic_module, "monotonic", lambda: end)
    assert s.adaptive_target() == usual
    elastic.uninstall()


@cluster_test()
async def test_an_answer_lasts_until_the_next_could_be_there(
    c: Client, s: Scheduler, a: Worker, b: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that takes long is not thought over again for long."""
    runs = [run_of(s, [f"t-{i}" for i in range(6)])]
    usual = await target_of(c)
    elastic = elastic_on(s, lambda: runs, [])
    await told(c, 6)
    now = elastic_module.monotonic()
    monkeypatch.setattr(elastic_module, "monotonic", lambda: now)
    advice = elastic._answer.advice
    elastic._learn(Question(tuple(runs), {}, 5.0), advice, took=10.0)
    now += 109.0
    assert s.adaptive_target() == 6
    now += 10.0
    assert s.adaptive_target() == usual
    elastic.uninstall()


@cluster_test()
async def test_what_is_left_of_the_runs_is_told_for_a_new_thought_alone(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Of 20,000 tasks it takes the event loop tenths of a second, and a cluster asks twice each
    second: how many workers it should have, and which may go."""
    asked: list[int] = []
    run = run_of(s, [f"t-{i}" for i in range(6)])

    def runs() -> Sequence[Remaining]:
        asked.append(len(asked))
        return [run]

    elastic = Elastic(s, Roster(s), runs, lambda: True, lambda where, error: None, refresh=3600.0)
    elastic.install()
    await told(c, 6)
    for _ in range(3):
        assert await target_of(c) == 6
        s.workers_to_close(target=1)
    assert asked == [0]
    elastic.uninstall()


@cluster_test()
async def test_a_thought_that_ends_after_leaving_changes_nothing(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    runs = [run_of(s, [f"t-{i}" for i in range(6)])]
    elastic = elastic_on(s, lambda: runs, [])
    s.adaptive_target(5.0)
    assert elastic._thinking
    elastic.uninstall()
    await until(lambda: not elastic._thinking)
    assert elastic._answer is None


@cluster_test()
async def test_nothing_stays_on_the_scheduler(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    before = dict(vars(s)), dict(s.handlers)
    runs = [run_of(s, [f"t-{i}" for i in range(6)])]
    elastic = elastic_on(s, lambda: runs, [])
    assert s.handlers["adaptive_target"] != before[1]["adaptive_target"]
    await told(c, 6)
    elastic.uninstall()
    assert set(vars(s)) == set(before[0])
    assert s.handlers == before[1]
    assert await target_of(c) == s.adaptive_target() != 6


@cluster_test()
async def test_a_stranger_that_replaced_us_is_left_in_place(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    elastic = elastic_on(s, lambda: [run_of(s, ["t-0"])], [])
    ours: Callable[..., int] = s.adaptive_target
    s.adaptive_target = lambda *a, **k: 7 + 0 * ours(*a, **k)  # type: ignore[method-assign]
    elastic.uninstall()
    assert s.adaptive_target() == 7, "it still calls through us to the original"
    del s.adaptive_target
    assert s.adaptive_target() == 0


def test_dask_still_asks_what_we_answer() -> None:
    asked = inspect.signature(Scheduler.adaptive_target).parameters
    assert list(asked) == ["self", "target_duration"]
    assert set(inspect.signature(Scheduler.workers_to_close).parameters) > PLAIN


# --- by the plugin ---------------------------------------------------------------------------


@cluster_test(nthreads=THREE)
async def test_tasks_whose_keys_hold_tokens_are_the_runs_own(
    c: Client, s: Scheduler, *workers: Worker
) -> None:
    """Most keys of Dask do, and names do not: taken for somebody else's, the tasks of a planned run
    left every answer to Dask."""
    plugin = plugin_of(PricedAdvisor(all_on_first, seconds=TEN))
    session = await start(s, plugin)
    keys = [f"chain-{i}-{'0123456789abcdef' * 2}" for i in range(3)]
    graph = {keys[0]: (wait_for, "go"), keys[1]: (add, keys[0]), keys[2]: (add, keys[1])}
    (last,) = c.get(graph, keys[2:], sync=False)
    await until(lambda: keys[0] in s.tasks and s.tasks[keys[0]].state == "processing")
    home = s.tasks[keys[0]].processing_on
    while session.elastic._answer is None:
        await target_of(c)
    closing = session.elastic._chosen(1, None)
    assert closing is not None, "who goes is said by the plan"
    assert {worker.address for worker in closing} == s.workers.keys() - {home.address}
    await Event("go").set()
    assert await last == 3
    await stop(s, plugin)
