"""A graph that was left to Dask is judged again when other workers are there."""

from __future__ import annotations

import asyncio
import math
import threading
from typing import Any

import pytest
from distributed import Client, Event, Scheduler, Worker

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask import client
from orchestrator_core.execute.dask.plans.anew import PAUSE
from orchestrator_core.execute.dask.session import Session
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from tests.execute.dask.advisors import PricedAdvisor, plugin_of
from tests.execute.dask.cluster import NO_MEMORY, add, cluster_test, start, stop, until, wait_for

NEW = "new"


def all_on_new(graph: TaskGraph, cluster: Cluster) -> dict[str, str]:
    return dict.fromkeys(graph.names, NEW)


class Choosy(PricedAdvisor):
    """Sees no point in a plan as long as there is no worker of that name."""

    def __init__(self) -> None:
        super().__init__(all_on_new)

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        if NEW in cluster.names:
            return super().advise(graph, cluster, flow)
        self.asked.append((graph, cluster, flow))
        return Advice(None, "no point in it")


def two_blocked(ready: int = 6) -> tuple[dict[str, Any], list[str]]:
    """Two tasks that wait for an event, and others; the keys of these."""
    others = [f"a{i}" for i in range(ready)]
    blocked = {f"b{i}": (wait_for, "go") for i in range(2)}
    return {**blocked, **dict.fromkeys(others, (add,))}, others


async def begun(c: Client, s: Scheduler, graph: dict[str, Any]) -> list[Any]:
    """The futures of such a graph, when its two tasks are blocked."""
    futures: list[Any] = c.get(graph, list(graph), sync=False)
    await both_blocked(s)
    return futures


async def both_blocked(s: Scheduler) -> None:
    """Until the scheduler knows what is executed."""
    await until(lambda: all(len(state.executing) == 1 for state in s.workers.values()))


def open_run(session: Session) -> Any:
    (run,) = session.runs
    return run


@cluster_test(**NO_MEMORY)
async def test_what_has_not_begun_is_a_planned_run_of_its_own(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = Choosy()
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    graph, others = two_blocked()
    futures = await begun(c, s, graph)
    async with Worker(s.address, nthreads=2, name=NEW, memory_limit=0):
        await until(lambda: len(session.runs) == 2)
        assert await c.gather(futures[2:]) == [1] * len(others)
        await Event("go").set()
        assert await c.gather(futures) == [1] * len(graph)
        await stop(s, plugin)
    rest, first = sorted(advisor.runs, key=lambda run: run.mode, reverse=True)
    assert (rest.mode, first.mode) == ("planned", "observed")
    assert set(rest.graph.names) == {task.task for task in rest.tasks} == set(others)
    assert NEW in rest.cluster.names
    assert {task.worker for task in rest.tasks} == {NEW}
    assert set(first.graph.names) == {task.task for task in first.tasks} == {"b0", "b1"}
    assert NEW not in first.cluster.names
    assert "no point in it; 6 tasks were planned as a run of their own" in first.reason
    assert (first.status, rest.status) == ("ok", "ok")
    assert first.flow == rest.flow
    s.validate_state()


class Loading(Choosy):
    """Takes as long to load as it has to."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded = threading.Event()

    def warm_up(self) -> None:
        self.loaded.wait(60)


class LoadingLater(Choosy):
    """Can be asked from the start, but whoever asks waits until it is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded = threading.Event()

    @property
    def is_loading(self) -> bool:
        return not self.loaded.is_set()

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        self.loaded.wait(60)
        return super().advise(graph, cluster, flow)


class LoadingWhenAsked(Choosy):
    """Loads once the first graph is there that it could plan, and has no answer until it has."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded = threading.Event()

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        if self.loaded.is_set():
            return super().advise(graph, cluster, flow)
        return Advice(None, "what plans is loaded first", put_off=True)


class AtNoon:
    """A clock of busy threads that stands still."""

    executed = 0

    def now(self) -> float:
        return 1e6

    def uninstall(self) -> None:
        return None


@pytest.mark.parametrize("make", [Loading, LoadingLater, LoadingWhenAsked])
@cluster_test(**NO_MEMORY)
async def test_a_graph_that_came_while_the_advisor_loaded_is_asked_about_once_it_has(
    c: Client,
    s: Scheduler,
    a: Worker,
    b: Worker,
    make: type[Loading | LoadingLater | LoadingWhenAsked],
) -> None:
    """Tasks waited as long as they may for an answer that could not come."""
    advisor = make()
    plugin = plugin_of(advisor)
    await s.register_scheduler_plugin(plugin, idempotent=True)
    session = plugin.session
    assert session is not None
    async with Worker(s.address, nthreads=2, name=NEW, memory_limit=0):
        await until(lambda: NEW in session.roster)
        graph = {f"b{i}": (wait_for, "go") for i in range(12)}
        futures = c.get(graph, list(graph), sync=False)
        await until(lambda: sum(len(state.executing) for state in s.workers.values()) == 4)
        assert open_run(session).reason == "the advisor is still busy or warming up"
        session.worked = AtNoon()  # type: ignore[assignment]
        advisor.loaded.set()
        await until(lambda: len(session.runs) == 2)
        await Event("go").set()
        assert await c.gather(futures) == [1] * len(graph)
        await stop(s, plugin)
    rest, first = sorted(advisor.runs, key=lambda run: run.mode, reverse=True)
    assert (rest.mode, first.mode) == ("planned", "observed")
    assert rest.others == 0.0, "nobody had anything since it is a run of its own"
    ((asked, _, _),) = advisor.asked
    assert set(rest.graph.names) == set(asked.names) == set(graph) - set(first.graph.names)
    assert len(first.graph) == 4


@cluster_test(**NO_MEMORY)
async def test_who_waits_until_it_is_ready_waits_until_nothing_is_loaded_any_more(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Asked meanwhile, it would have no time for the graph that one waits for."""
    advisor = LoadingLater()
    plugin = plugin_of(advisor)
    await s.register_scheduler_plugin(plugin, idempotent=True)
    assert plugin.session is not None
    advisory = plugin.session.advisory
    assert not await client.wait_ready(c, 0.2)
    assert advisory._warm, "it could be asked, as far as that goes"
    waiting = asyncio.ensure_future(client.wait_ready(c, 60))
    advisor.loaded.set()
    assert await waiting
    await stop(s, plugin)


@cluster_test(**NO_MEMORY)
async def test_what_is_refused_again_is_told_and_not_asked_about_at_every_turn(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = Choosy()
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    graph, _ = two_blocked()
    futures = await begun(c, s, graph)
    run = open_run(session)
    async with Worker(s.address, nthreads=2, name="other", memory_limit=0):
        await until(lambda: bool(run.notes))
        assert run.notes[0].startswith("judged again with 3 workers for ")
        assert run.notes[0].endswith(": no point in it")
        judged = session.anew._judged[run]
        assert judged.pause == 2 * PAUSE
        judged.again = math.inf
        async with Worker(s.address, nthreads=3, name="third", memory_limit=0):
            await until(lambda: "third" in session.roster)
            session.anew._look()
            assert len(advisor.asked) == 2
            await Event("go").set()
            assert await c.gather(futures) == [1] * len(graph)
    await stop(s, plugin)


class Pondering(Choosy):
    """Thinks about the rest of a graph for as long as it has to."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        if NEW in cluster.names:
            self.go.wait(60)
        return super().advise(graph, cluster, flow)


@cluster_test(**NO_MEMORY)
async def test_a_plan_for_what_has_ended_meanwhile_is_no_run_of_its_own(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """It had no task left that could end it: it stayed under way for as long as the scheduler
    lived, and was looked at ten times a second."""
    advisor = Pondering()
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    graph, others = two_blocked()
    futures = await begun(c, s, graph)
    run = open_run(session)
    async with Worker(s.address, nthreads=2, name=NEW, memory_limit=0):
        await until(lambda: not session.advisory.is_ready)
        assert await c.gather(futures[2:]) == [1] * len(others)
        advisor.go.set()
        await until(lambda: bool(run.notes))
        assert session.runs == (run,)
        assert len(session.control) == 0
        await Event("go").set()
        assert await c.gather(futures) == [1] * len(graph)
        await until(lambda: not session.runs)
        await stop(s, plugin)
    assert run.notes == [
        f"judged again with 3 workers for {len(others)} tasks: the plan came too late"
    ]
    assert run.reason == "no point in it"


@cluster_test(**NO_MEMORY)
async def test_a_run_of_its_own_has_all_the_tasks_that_it_was_asked_about(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Four of its eight end while it is thought about: the record of the others, with the plan of
    all, told of a run that took half as long as forecast."""
    advisor = Pondering()
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    firsts = [f"a{i}" for i in range(4)]
    graph: dict[str, Any] = {f"b{i}": (wait_for, "go") for i in range(2)}
    graph |= dict.fromkeys(firsts, (add,))
    graph |= {f"c{i}": (wait_for, "later", *firsts) for i in range(4)}
    futures = c.get(graph, list(graph), sync=False)
    await both_blocked(s)
    async with Worker(s.address, nthreads=2, name=NEW, memory_limit=0):
        await until(lambda: not session.advisory.is_ready)
        await until(lambda: all(s.tasks[key].state == "memory" for key in firsts))  # type: ignore[index]
        advisor.go.set()
        await until(lambda: len(session.runs) == 2)
        assert session.runs[1].open == {f"c{i}" for i in range(4)}
        await Event("later").set()
        await Event("go").set()
        assert await c.gather(futures) == [1] * len(graph)
        await stop(s, plugin)
    rest, first = sorted(advisor.runs, key=lambda run: run.mode, reverse=True)
    asked = {name for name in graph if not name.startswith("b")}
    assert set(rest.graph.names) == {task.task for task in rest.tasks} == asked
    assert set(first.graph.names) == {task.task for task in first.tasks} == {"b0", "b1"}
    assert all(0 <= task.start <= task.end <= rest.seconds for task in rest.tasks)
    ends = {task.task: task.end for task in rest.tasks}
    assert max(ends[key] for key in firsts) <= min(ends[f"c{i}"] for i in range(4))
    assert "; 4 tasks were planned as a run of their own" in first.reason


@cluster_test(**NO_MEMORY)
async def test_one_more_of_the_same_is_no_reason_to_ask(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = Choosy()
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    graph, _ = two_blocked()
    futures = await begun(c, s, graph)
    async with Worker(s.address, nthreads=1, name=NEW, memory_limit=0):
        await until(lambda: session.anew._alarm._timer is not None)
        session.anew._look()
        await Event("go").set()
        assert await c.gather(futures) == [1] * len(graph)
        await stop(s, plugin)
    assert len(advisor.asked) == 1


@cluster_test(**{**NO_MEMORY, "config": {"orchestrator.worker.kind": "box"}})
async def test_of_one_kind_by_name_some_may_have_what_others_have_not(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Their owner says that all are boxes."""
    advisor = Choosy()
    plugin = plugin_of(advisor)
    await start(s, plugin)
    graph, _ = two_blocked()
    futures = await begun(c, s, graph)
    resources = {"GPU": 1.0}
    async with Worker(s.address, nthreads=1, name=NEW, memory_limit=0, resources=resources):
        await until(lambda: len(advisor.asked) == 2)
        assert {worker.kind for worker in advisor.asked[-1][1].workers} == {"box"}
        await Event("go").set()
        assert await c.gather(futures) == [1] * len(graph)
        await stop(s, plugin)


@cluster_test(**NO_MEMORY)
async def test_a_change_is_looked_at_soon_whoever_else_waits(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """A run that was judged often waits for long until it is again."""
    advisor = Choosy()
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    graph, _ = two_blocked()
    futures = await begun(c, s, graph)
    session.anew._wake(3600.0)
    async with Worker(s.address, nthreads=2, name="other", memory_limit=0):
        await until(lambda: bool(open_run(session).notes))
        await Event("go").set()
        assert await c.gather(futures) == [1] * len(graph)
    await stop(s, plugin)
