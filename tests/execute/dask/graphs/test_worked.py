"""How long all threads were busy: with what ended well or not, until a task seceded, and now."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import Client, Event, Scheduler, Worker, secede

from orchestrator_core.execute.dask.graphs import worked
from orchestrator_core.execute.dask.graphs.worked import NESTED, Worked
from orchestrator_core.execute.dask.living import MANY
from tests.execute.dask.advisors import FixedAdvisor, plugin_of
from tests.execute.dask.cluster import (
    NO_MEMORY,
    add,
    cluster_test,
    start,
    stop,
    until,
    wait_for,
)

NOW = 1000.0
ONE = {**NO_MEMORY, "nthreads": [("127.0.0.1", 1)]}


@dataclass(eq=False)
class Running:
    key: str
    processing_on: Any


def span(action: str, start: float, stop: float) -> dict[str, Any]:
    return {"action": action, "start": start, "stop": stop}


def made_up(**workers: Any) -> Any:
    handlers = {"task-finished": print, "task-erred": print}
    return SimpleNamespace(workers=workers, tasks={}, stream_handlers=handlers)


def test_what_ended_and_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worked, "time", lambda: NOW)
    there = SimpleNamespace(last_seen=NOW - 0.5)
    task = Running("running", there)
    there.executing = {task: 2.0}
    scheduler = made_up(there=there)
    clock = Worked(scheduler, lambda where, error: None)
    assert clock.now() == 2.5
    assert clock.now(but={"running"}) == 0.0
    spans = [span("transfer", 0.0, 9.0), span("compute", 1.0, 3.5)]
    clock.has_ended({"key": "ended", "startstops": spans})
    clock.has_ended({"key": "ended", "startstops": None})
    assert clock.now() == 5.0
    assert clock.executed == 2
    task.processing_on = None
    assert clock.now() == 2.5


def test_the_scheduler_is_left_as_it_was_and_hears_all(monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[str] = []
    scheduler, heard = made_up(), []
    scheduler.stream_handlers["task-erred"] = lambda **message: heard.append(message)
    before = dict(scheduler.stream_handlers)
    clock = Worked(scheduler, lambda where, error: faults.append(where))
    clock.install()
    ours = scheduler.stream_handlers["task-erred"]
    ours(key="x", startstops=[span("compute", 0.0, 2.0)])
    assert clock.now() == 2.0
    ours(nothing="of a key")
    assert faults == ["worked"]
    ours(key="x", startstops=[span("compute", 0.0, 2.0)])
    assert clock.now() == 2.0, "it listens no more"
    assert len(heard) == 3
    clock.uninstall()
    assert scheduler.stream_handlers == before


def test_what_is_gone_without_a_word_is_forgotten() -> None:
    scheduler = made_up()
    clock = Worked(scheduler, lambda where, error: None)
    for number in range(20 * MANY):
        scheduler.tasks[number] = None
        clock.submitted([number], f"{NESTED}-1")
        scheduler.tasks.pop(number - 10, None)
    assert len(clock._left) <= MANY + 1
    assert all(key in clock._left for key in scheduler.tasks)


def fails(event: str) -> None:
    wait_for(event)
    raise ValueError


@cluster_test(**ONE)
async def test_attempts_that_fail_count(c: Client, s: Scheduler, a: Worker) -> None:
    plugin = plugin_of(FixedAdvisor())
    session = await start(s, plugin)
    spans: list[dict[str, Any]] = []
    original = s.stream_handlers["task-erred"]

    def noted(**message: Any) -> Any:
        spans.extend(message["startstops"])
        return original(**message)

    s.stream_handlers["task-erred"] = noted
    await Event("go").set()
    failing = c.submit(fails, "go", retries=2)
    await until(lambda: failing.status == "error")
    took = sum(each["stop"] - each["start"] for each in spans if each["action"] == "compute")
    assert len(spans) >= 3
    assert session.worked.now() == pytest.approx(took)
    s.stream_handlers["task-erred"] = original
    await stop(s, plugin)


def leaves(event: str) -> None:
    secede()  # type: ignore[no-untyped-call]
    wait_for(event)


@cluster_test(**ONE)
async def test_a_task_that_has_left_its_thread_is_busy_no_more(
    c: Client, s: Scheduler, a: Worker
) -> None:
    plugin = plugin_of(FixedAdvisor())
    session = await start(s, plugin)
    future = c.submit(leaves, "go", key="leaves")
    await until(lambda: bool(next(iter(s.workers.values())).long_running))
    before = session.worked.now()
    for _ in range(3):
        await c.submit(add, 1, pure=False)
    await Event("go").set()
    await future
    assert session.worked.now() - before < 0.5, "three sums, however long it waited"
    await stop(s, plugin)


@cluster_test(**ONE)
async def test_what_a_task_submits_is_nobody_elses(c: Client, s: Scheduler, a: Worker) -> None:
    """By the name of the client that `worker_client` makes in the process of a worker."""
    plugin = plugin_of(FixedAdvisor())
    session = await start(s, plugin)
    options = {"asynchronous": True, "set_as_default": False}
    async with Client(s.address, name="worker", **options) as nested:
        assert await nested.gather([nested.submit(add, i, pure=False) for i in range(3)]) == [
            1,
            2,
            3,
        ]
    assert session.worked.now() == 0.0
    assert await c.submit(add, 1) == 2
    assert session.worked.now() > 0.0
    await stop(s, plugin)
