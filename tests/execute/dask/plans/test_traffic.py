"""Several planned runs on one cluster: whose turn it is, and what each knows of the others."""

from __future__ import annotations

from typing import Any

import pytest
from distributed import Client, Event, Scheduler, Worker

from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.session import Session
from orchestrator_core.execute.record import RunRecord
from tests.execute.dask.advisors import PricedAdvisor, all_on_first, plugin_of
from tests.execute.dask.cluster import NO_MEMORY, add, cluster_test, start, stop, until, wait_for
from tests.execute.dask.spy import Spy

ONE = {**NO_MEMORY, "nthreads": [("127.0.0.1", 1)]}


def independent(tag: str, number: int) -> dict[str, Any]:
    return {f"{tag}{i:02}": (add,) for i in range(number)}


async def blocked(c: Client, s: Scheduler, a: Worker) -> tuple[OrchestratorPlugin, Session, Any]:
    """A task that waits has the only thread."""
    plugin = plugin_of(PricedAdvisor(all_on_first, seconds=1.0))
    session = await start(s, plugin)
    gate = c.submit(wait_for, "go", key="gate")
    await until(lambda: a.state.executing_count == 1)
    return plugin, session, gate


async def planned(c: Client, session: Session, graph: dict[str, Any], **options: Any) -> list[Any]:
    """The graph is submitted, and there is a plan for it."""
    before = len(session.control)
    futures = c.get(graph, list(graph), sync=False, **options)
    await until(lambda: len(session.control) > before)
    return list(futures)


@cluster_test(**ONE)
async def test_the_shortest_goes_first_and_equals_as_they_came(
    c: Client, s: Scheduler, a: Worker
) -> None:
    plugin, session, gate = await blocked(c, s, a)
    futures = []
    for tag, number in (("long", 9), ("middle", 5), ("equal", 5), ("short", 3)):
        futures += await planned(c, session, independent(tag, number))
    s.plugins["spy"] = spy = Spy([])  # type: ignore[assignment]
    await Event("go").set()
    assert await c.gather(futures) == [1] * 22
    tags = [key[:-2] for key in spy.ended if key != "gate"]
    assert tags == ["short"] * 3 + ["middle"] * 5 + ["equal"] * 5 + ["long"] * 9
    assert session.counters.faults == 0
    s.validate_state()
    del gate
    await stop(s, plugin)


@cluster_test(**ONE)
async def test_the_users_priority_and_the_generation_come_before_turns(
    c: Client, s: Scheduler, a: Worker
) -> None:
    plugin, session, gate = await blocked(c, s, a)
    futures = await planned(c, session, independent("urgent", 6), priority=5)
    futures += await planned(c, session, independent("first", 5), fifo_timeout="0ms")
    futures += await planned(c, session, independent("later", 2), fifo_timeout="0ms")
    s.plugins["spy"] = spy = Spy([])  # type: ignore[assignment]
    await Event("go").set()
    await c.gather(futures)
    tags = [key[:-2] for key in spy.ended if key != "gate"]
    assert tags == ["urgent"] * 6 + ["first"] * 5 + ["later"] * 2
    del gate
    await stop(s, plugin)


@cluster_test(**ONE)
async def test_what_is_behind_is_expected_to_end_later(c: Client, s: Scheduler, a: Worker) -> None:
    """Ten seconds of the first and four of the second on one thread; the second goes first."""
    plugin = plugin_of(PricedAdvisor(all_on_first, seconds=1.0))
    session = await start(s, plugin)
    long = {f"long{i}": (wait_for, "go") for i in range(10)}
    short = {f"short{i}": (wait_for, "go") for i in range(4)}
    futures = await planned(c, session, long)
    futures += await planned(c, session, short)

    def ends() -> dict[str, float]:
        found = session.control.steered
        return {
            each.snapshot.names[0][:-1]: steered.expected_end for each, steered in found.items()
        }

    await until(lambda: ends()["long"] > 13.0)
    assert ends()["short"] < 8.0, "one task of the other runs; none waits before these"
    await Event("go").set()
    await c.gather(futures)
    await stop(s, plugin)


@cluster_test(**NO_MEMORY)
async def test_a_run_goes_where_another_leaves_room(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Both are planned for the first worker, each as if it were alone."""
    advisor = PricedAdvisor(all_on_first, seconds=0.5)
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    graph = {f"one{i}": (wait_for, "go") for i in range(8)}
    futures = await planned(c, session, graph)
    two = {f"two{i}": (wait_for, "go") for i in range(8)}
    futures += await planned(c, session, two)
    first, second = advisor.asked[0][1].names
    slots = session.steering.follower.slots
    await until(lambda: second in {slots[name].worker for name in two})
    assert min(slots[name].rank for name in two) >= len(graph), "what is mended keeps its turn"
    await Event("go").set()
    await c.gather(futures)
    await stop(s, plugin)
    ran = {record.worker for run in advisor.runs for record in run.tasks}
    assert ran == {first, second}


def of(advisor: PricedAdvisor, tag: str) -> RunRecord:
    return next(run for run in advisor.runs if run.graph.names[0].startswith(tag))


@cluster_test(**ONE)
async def test_a_record_says_what_others_had_meanwhile(c: Client, s: Scheduler, a: Worker) -> None:
    """Two graphs and a task by itself share a thread; a third graph has it for itself."""
    advisor = PricedAdvisor(all_on_first, seconds=0.01)
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    lone = c.submit(wait_for, "lone", key="lone")
    await until(lambda: a.state.executing_count == 1)
    futures = await planned(c, session, {f"x{i}": (wait_for, "go") for i in range(3)})
    futures += await planned(c, session, {f"y{i}": (wait_for, "go") for i in range(4)})
    await Event("lone").set()
    await until(lambda: lone.done())
    await Event("go").set()
    await c.gather(futures)
    await c.gather(c.get(independent("alone", 3), ["alone00", "alone01", "alone02"], sync=False))
    await stop(s, plugin)
    x, y, alone = (of(advisor, tag) for tag in ("x", "y", "alone"))
    work = {run.run_id: sum(task.seconds for task in run.tasks) for run in (x, y, alone)}
    assert x.share_of_others > 0.05
    assert y.others >= work[x.run_id] * 0.9, "all of the first run, and of the lone task its rest"
    assert alone.others == pytest.approx(0.0, abs=0.01)
    assert any("not its own had" in note for note in x.notes)
    assert not any("not its own had" in note for note in alone.notes)
