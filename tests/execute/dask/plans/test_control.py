"""A plan under way is mended: tasks move, holds end, hung workers go, and nothing stays behind."""

from __future__ import annotations

from typing import Any

import pytest
from distributed import Client, Event, Scheduler, Worker
from distributed.core import Status

from orchestrator_core.execute.dask.session import Session
from orchestrator_core.execute.directives import Hold
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from tests.execute.dask.advisors import PricedAdvisor, all_on_first, plugin_of
from tests.execute.dask.cluster import NO_MEMORY, add, cluster_test, start, stop, until, wait_for


def blocked_first(number: int, event: str) -> dict[str, Any]:
    """Independent tasks; the first, by name and in the plan, waits for the event."""
    graph: dict[str, Any] = {"a0": (wait_for, event)}
    return graph | {f"a{i}": (add,) for i in range(1, number)}


def computed_on(session: Session) -> dict[str, str]:
    (run,) = session.advisory._advisor.runs  # type: ignore[union-attr]
    return {record.task: record.worker for record in run.tasks}


@pytest.mark.parametrize("mode", ["director", "restrict"])
@cluster_test(**NO_MEMORY, config={"distributed.scheduler.work-stealing-interval": "1h"})
async def test_tasks_that_were_sent_move_away_from_a_worker_that_is_late(
    c: Client, s: Scheduler, a: Worker, b: Worker, mode: str
) -> None:
    """Not because Dask balances, which steals what is restricted loosely."""
    advisor = PricedAdvisor(all_on_first, seconds=0.3)
    plugin = plugin_of(advisor, mode=mode)
    session = await start(s, plugin)
    graph = blocked_first(8, "late")
    futures = c.get(graph, list(graph), sync=False)
    others = futures[1:]
    await c.gather(others)
    assert s.tasks["a0"].state == "processing", "the first still blocks its worker"
    assert session.counters.moved > 0
    await Event("late").set()
    assert await c.gather(futures[0]) == 1
    await stop(s, plugin)
    (run,) = advisor.runs
    late = advisor.asked[0][1].names[0]
    stayed = {record.task for record in run.tasks if record.worker == late} - {"a0"}
    assert len(stayed) <= (mode == "restrict"), "one that it heard of first, as Dask has it"
    assert any("go elsewhere" in note for note in run.notes)
    s.validate_state()


@cluster_test(**NO_MEMORY)
async def test_a_plan_that_is_kept_moves_nothing(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = PricedAdvisor(all_on_first, seconds=1e-6)
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    graph = {f"a{i}": (add,) for i in range(20)}
    assert await c.gather(c.get(graph, list(graph), sync=False)) == [1] * 20
    assert session.counters.moved == 0
    await stop(s, plugin)
    assert {record.worker for record in advisor.runs[0].tasks} == {advisor.asked[0][1].names[0]}


@cluster_test(**NO_MEMORY)
async def test_work_goes_to_a_worker_that_joins(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = PricedAdvisor(all_on_first, seconds=5.0)
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    b.status = Status.paused
    graph = {f"a{i}": (wait_for, "go") for i in range(6)}
    futures = c.get(graph, list(graph), sync=False)
    await until(lambda: len(session.control) == 1)
    async with Worker(s.address, nthreads=1, name="new", memory_limit=0) as new:
        await until(lambda: len(new.state.tasks) >= 2)
        await Event("go").set()
        assert await c.gather(futures) == [1] * 6
        await stop(s, plugin)
    assert "new" in {record.worker for record in advisor.runs[0].tasks}


@cluster_test(**NO_MEMORY)
async def test_a_held_task_waits_for_the_one_that_it_would_overtake(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    holds = {"filler": Hold(sent=frozenset({"critical"}), patience=60.0)}
    advisor = PricedAdvisor(all_on_first, holds=holds)
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    graph = {"gate": (wait_for, "open"), "critical": (add, "gate"), "filler": (add,)}
    futures = c.get(graph, ["critical", "filler"], sync=False)
    await until(lambda: "filler" in session.steering.follower.held)
    assert list(session.steering.follower.held) == ["filler"]
    assert session.steering.follower.check() == ()
    await Event("open").set()
    assert await c.gather(futures) == [2, 1]
    await stop(s, plugin)
    order = [record.task for record in sorted(advisor.runs[0].tasks, key=lambda r: r.start)]
    assert order == ["gate", "critical", "filler"]


@cluster_test(**NO_MEMORY)
async def test_patience_ends_a_hold(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    holds = {"filler": Hold(sent=frozenset({"critical"}), patience=0.05)}
    advisor = PricedAdvisor(lambda g, k: {n: k.names[n == "filler"] for n in g.names}, holds=holds)
    plugin = plugin_of(advisor)
    await start(s, plugin)
    graph = {"gate": (wait_for, "open"), "critical": (add, "gate"), "filler": (add,)}
    critical, filler = c.get(graph, ["critical", "filler"], sync=False)
    assert await c.gather(filler) == 1, "although the critical task has not come yet"
    await Event("open").set()
    assert await c.gather(critical) == 2
    await stop(s, plugin)


@cluster_test(**NO_MEMORY)
async def test_what_is_let_go_at_the_moment_at_which_we_leave_goes_on(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """It is neither held any more nor placed yet, and nobody else would think of it."""
    holds = {"filler": Hold(sent=frozenset({"critical"}), patience=600.0)}
    plugin = plugin_of(PricedAdvisor(all_on_first, holds=holds))
    session = await start(s, plugin)
    graph = {"gate": (wait_for, "open"), "critical": (add, "gate"), "filler": (add,)}
    critical, filler = c.get(graph, ["critical", "filler"], sync=False)
    await until(lambda: "filler" in session.steering.follower.held)
    session.steering.transition("critical", "processing")
    assert not session.steering.follower.held
    s.remove_plugin(plugin.name)
    assert await c.gather(filler) == 1
    await Event("open").set()
    assert await c.gather(critical) == 2


@pytest.mark.parametrize("how", ["remove", "fault", "lose"])
@cluster_test(**NO_MEMORY)
async def test_nothing_stays_held_when_we_leave(
    c: Client, s: Scheduler, a: Worker, b: Worker, how: str
) -> None:
    holds = {"filler": Hold(sent=frozenset({"critical"}), patience=600.0)}
    advisor = PricedAdvisor(
        lambda g, k: {n: k.names[n == "filler"] for n in g.names}, seconds=600.0, holds=holds
    )
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    graph = {"gate": (wait_for, "open"), "critical": (add, "gate"), "filler": (add,)}
    critical, filler = c.get(graph, ["critical", "filler"], sync=False)
    await until(lambda: "filler" in session.steering.follower.held)
    if how == "remove":
        s.remove_plugin(plugin.name)
    elif how == "fault":
        session.fault("test", RuntimeError("one"))
        session.fault("test", RuntimeError("two"))
    else:
        planned = advisor.asked[0][1].names[1]
        await s.remove_worker(session.roster._addresses[planned], stimulus_id="test", close=False)
    await until(lambda: session.steering.tasks.state("filler") in ("processing", "memory"))
    assert session.steering.tasks.state("critical") == "waiting", "for which it was held"
    assert not session.steering.follower.held
    await Event("open").set()
    assert await c.gather(filler) == 1
    assert await c.gather(critical) == 2


@cluster_test(**NO_MEMORY)
async def test_outputs_go_ahead_to_where_they_will_be_needed(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    def places(graph: TaskGraph, cluster: Cluster) -> dict[str, str]:
        return {n: cluster.names[n in ("gate", "join")] for n in graph.names}

    advisor = PricedAdvisor(places, prefetch=True)
    plugin = plugin_of(advisor)
    await start(s, plugin)
    graph = {"big": (bytes, 200_000), "gate": (wait_for, "open"), "join": (length, "big", "gate")}
    future = c.get(graph, "join", sync=False)
    await until(lambda: "big" in s.tasks and len(s.tasks["big"].who_has or ()) == 2)
    assert s.tasks["gate"].state == "processing", "its consumer cannot have asked for it yet"
    await Event("open").set()
    assert await future == 200_001
    await stop(s, plugin)


@cluster_test(**NO_MEMORY)
async def test_a_silent_worker_is_taken_off_while_a_plan_waits_for_it(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = PricedAdvisor(all_on_first)
    plugin = plugin_of(advisor, hung_after=0.01)
    session = await start(s, plugin)
    names = [session.roster.name(worker.address) for worker in (a, b)]
    silent = (a, b)[names.index(min(names))]
    silent.periodic_callbacks["heartbeat"].stop()
    graph = blocked_first(4, "late")
    futures = c.get(graph, list(graph), sync=False)
    await until(lambda: silent.address not in s.workers)
    assert session.counters.hung_removed == 1
    await Event("late").set()
    assert await c.gather(futures) == [1] * 4
    await stop(s, plugin)


def length(*inputs: Any) -> int:
    return sum(value if isinstance(value, int) else len(value) for value in inputs)
