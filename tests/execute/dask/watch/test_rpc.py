"""Announced runs: what a client may ask over the network, and what it gets."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import Any

import pytest
from distributed import Client, Event, Scheduler, Worker, wait
from distributed.core import Status

from orchestrator_core.errors import InvalidCluster, InvalidInput
from orchestrator_core.execute.dask import OrchestratorPlugin, client
from orchestrator_core.execute.dask.graphs import announced
from orchestrator_core.execute.dask.graphs.announced import Announcements
from orchestrator_core.execute.dask.watch.rpc import _rows
from orchestrator_core.execute.directives import Hold, Slot
from orchestrator_core.execute.ending import Ending
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import add, cluster_test, start, stop, until, wait_for


@cluster_test(nthreads=[("127.0.0.1", 2), ("127.0.0.1", 1, {"resources": {"GPU": 2}})])
async def test_the_cluster_and_the_mode(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    await start(s, OrchestratorPlugin(advisor=FixedAdvisor()))
    cluster = await client.fetch_cluster(c)
    assert cluster.names == (str(a.name), str(b.name))
    assert [worker.threads for worker in cluster.workers] == [2, 1]
    assert dict(cluster.workers[1].resources) == {"GPU": 2}
    assert cluster.workers[0].memory == s.workers[a.address].memory_limit
    assert 0 < cluster.transfer_seconds(0, 1, 1_000_000) < 1
    assert await client.fetch_mode(c) == "director"
    a.status = b.status = Status.paused
    await until(lambda: not s.running)
    with pytest.raises(InvalidCluster, match="no worker runs"):
        await client.fetch_cluster(c)


@pytest.mark.parametrize("mode", ["director", "restrict"])
@cluster_test(config={"distributed.scheduler.work-stealing": False})
async def test_announced_tasks_run_in_their_slots(
    c: Client, s: Scheduler, a: Worker, b: Worker, mode: str
) -> None:
    """Twelve single-task graphs; the plan wants them on b, in reversed order of submission."""
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode=mode, advisor=advisor, min_tasks=1)
    session = await start(s, plugin)
    gate = c.submit(wait_for, "all there", key="gate", workers=[b.address])
    await until(lambda: b.state.executing_count == 1)
    keys = [f"k-{i}" for i in range(12)]
    before = time.time()
    started_at = await client.begin(
        c,
        "run",
        [(key, f"task {i}", "add") for i, key in enumerate(keys)],
        {key: Slot(str(b.name), 11 - i) for i, key in enumerate(keys)},
    )
    assert before <= started_at <= time.time()
    futures = [c.submit(add, i, key=key, fifo_timeout="0 ms") for i, key in enumerate(keys)]
    await until(lambda: len(s.workers[b.address].processing) == 13)
    generations = {s.tasks[key].priority[1] for key in keys}
    assert len(generations) == 1, "an epoch is of one generation"
    await until(lambda: len(b.state.tasks) == 13)
    await Event("all there").set()
    assert await c.gather(futures) == [1 + i for i in range(12)]
    await gate
    rows = await client.records(c, "run")
    assert [row.key for row in rows] == list(reversed(keys))
    assert {row.record.worker for row in rows} == {str(b.name)}
    assert [row.record.task for row in rows] == [f"task {11 - i}" for i in range(12)]
    assert {row.record.kind for row in rows} == {"add"}
    for row in rows:
        assert row.started_at == pytest.approx(started_at + row.record.start)
        assert row.ended_at == pytest.approx(started_at + row.record.end)
    await client.end(c, "run")
    assert await client.records(c, "run") == []
    assert len(session.announcements) == len(session.recorder) == 0
    await stop(s, plugin)
    assert (advisor.asked, advisor.runs) == ([], []), "the client plans and records by itself"


@cluster_test()
async def test_who_ends_a_run_is_told_what_others_had(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(mode="director", advisor=FixedAdvisor(), min_tasks=1)
    session = await start(s, plugin)
    span, message = {"action": "compute", "start": 0.0}, {"key": "of others"}
    session.worked.has_ended(message | {"startstops": [span | {"stop": 10.0}]})
    await client.begin(c, "run", [("k", "task", "add")])
    session.worked.has_ended(message | {"startstops": [span | {"stop": 5.0}]})
    assert await c.submit(add, 1, key="k") == 2
    assert (await client.end(c, "run")).others == pytest.approx(5.0, abs=0.01)
    assert await client.end(c, "run") == Ending(), "nobody knows it any more"
    await stop(s, plugin)


@cluster_test()
async def test_what_a_run_still_has_when_it_is_cancelled_is_not_of_others(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(mode="observe", advisor=FixedAdvisor(), min_tasks=1)
    await start(s, plugin)
    await client.begin(c, "run", [("k", "task", "waits")])
    running = c.submit(wait_for, "go", key="k")
    theirs = c.submit(wait_for, "go", key="of others")
    keys = {"k", "of others"}
    await until(lambda: keys == {task.key for task in s.tasks.values() if task.processing_on})
    for key, seconds in (("k", 30.0), ("of others", 7.0)):
        worker = s.tasks[key].processing_on
        assert worker is not None
        worker.executing = {**worker.executing, s.tasks[key]: seconds}
    assert 7.0 <= (await client.end(c, "run")).others < 30.0
    await Event("go").set()
    await c.gather([running, theirs])
    await stop(s, plugin)


@cluster_test()
async def test_an_epoch_without_slots_is_observed(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(mode="observe", advisor=FixedAdvisor())
    await start(s, plugin)
    await client.begin(c, "run", [("x", "first", "add")])
    assert await c.submit(add, key="x") == 1
    await client.begin(c, "run", [("y", "second", "add")])
    assert await c.submit(add, key="y") == 1
    rows = await client.records(c, "run")
    assert [row.record.task for row in rows] == ["first", "second"]
    assert rows[0].record.end <= rows[1].record.start, "both count from the first epoch"
    await stop(s, plugin)


@cluster_test()
async def test_a_user_pin_beats_a_slot(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    session = await start(s, plugin)
    await client.begin(c, "run", [("x", "x", "x")], {"x": Slot(str(b.name), 0)})
    await c.submit(add, key="x", workers=[a.address])
    assert (await client.records(c, "run"))[0].record.worker == str(a.name)
    assert "x" not in session.steering.follower
    await stop(s, plugin)


@cluster_test()
async def test_slots_of_keys_that_never_come_are_given_up(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    session = await start(s, plugin)
    await client.begin(c, "run", [("x", "x", "x")], {"x": Slot("no such worker", 0)})
    assert len(session.steering.follower) == 1
    await client.end(c, "run")
    assert len(session.steering.follower) == 0
    await client.begin(c, "next", [("y", "y", "y")], {"y": Slot("no such worker", 0)})
    assert await c.submit(add, key="y") == 1, "Dask decides where no such worker runs"
    await stop(s, plugin)


@pytest.mark.parametrize("mode", ["director", "restrict"])
@cluster_test()
async def test_nothing_of_a_client_that_is_gone_is_kept(
    c: Client, s: Scheduler, a: Worker, b: Worker, mode: str
) -> None:
    plugin = OrchestratorPlugin(mode=mode, advisor=FixedAdvisor())
    session = await start(s, plugin)
    await client.begin(c, "stays", [("other", "o", "k")], {"other": Slot(str(a.name), 0)})
    tasks = [(key, key, "k") for key in ("runs", "waits", "held", "never sent")]
    slots = {key: Slot(str(b.name), rank) for rank, (key, *_) in enumerate(tasks)}
    holds = {"held": Hold(done=frozenset({"waits"}), patience=100.0)}
    async with Client(s.address, asynchronous=True, set_as_default=False) as dies:
        await client.begin(dies, "dies", tasks, slots, holds)
        futures = [dies.submit(wait_for, "let go", key=key) for key, *_ in tasks[:3]]
        await until(lambda: "held" in s.tasks and s.tasks["runs"].state == "processing")
        # As when its process is killed: nobody says that the run has ended.
        await dies.scheduler_comm.comm.close()
        # It may connect again at once, and be among the scheduler's clients.
        await until(lambda: [r.run_id for r in session.announcements.runs] == ["stays"])
        assert set(session.steering.follower.slots) == {"other"}
        assert not session.steering.follower.held
        assert set(session.recorder.ledgers) == {"other"}
        assert not {"runs", "waits", "held"} & s.tasks.keys()
        del futures
        await dies.close(timeout=0)
    await Event("let go").set()
    assert await c.submit(add, key="other") == 1
    await stop(s, plugin)


@pytest.mark.parametrize(
    ("tasks", "slots", "message"),
    [
        ([["k", "n"]], [], "announced as"),
        ([["k", 1, "n"]], [], "announced as"),
        ([["k", "n", "n"]], [["k", "w"]], "a slot is"),
        ([["k", "n", "n"]], [["k", "w", "first", 0]], "a slot is"),
        ([["k", "n", "n"]], [["other", "w", 0, 0]], "not announced"),
    ],
)
@cluster_test()
async def test_a_malformed_epoch_is_refused(
    c: Client, s: Scheduler, a: Worker, b: Worker, tasks: Any, slots: Any, message: str
) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    session = await start(s, plugin)
    with pytest.raises(InvalidInput, match=message):
        await c.scheduler.orchestrator_begin(  # type: ignore[union-attr]
            run_id="run", tasks=tasks, slots=slots
        )
    assert len(session.announcements) == len(session.steering.follower) == 0
    await stop(s, plugin)


@cluster_test()
async def test_announced_runs_and_their_records_are_bounded(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(announced, "RUN_LIMIT", 2)
        patch.setattr(announced, "RECORD_LIMIT", 3)
        plugin = OrchestratorPlugin(advisor=FixedAdvisor())
        session = await start(s, plugin)
        for run_id in ("one", "two", "three"):
            await client.begin(c, run_id, [(f"{run_id}-{i}", "n", "n") for i in range(5)])
        assert len(session.announcements) == 2
        assert len(session.recorder) == 10
        futures = c.map(add, range(5), key=[f"three-{i}" for i in range(5)])
        await wait(futures)
        assert len(await client.records(c, "three")) == 3
        assert await client.records(c, "one") == []
        await stop(s, plugin)


def test_telling_what_was_executed_takes_a_step_or_two_for_each() -> None:
    """All of a run is told at once, on the event loop; as deep copies it took 40 us each, and as
    many calls as an execution has fields, and more."""
    announcements = Announcements(lambda run: None, lambda epoch: None, lambda: 0.0)
    run, _ = announcements.begin("run", [(f"k{i}", f"t{i}", "k") for i in range(100)], 0.0)
    for i in range(100):
        run.add((f"k{i}", "ok", ("w", "k"), i, i + 1.0, 8.0, 0.0, 1, None, None, 0.0, None))
    calls: list[str] = []
    sys.setprofile(lambda frame, event, _: calls.append(event) if event == "call" else None)
    try:
        rows = list(_rows(run))
    finally:
        sys.setprofile(None)
    assert rows[7] == {**asdict(run.records[7][1]), "key": "k7", "started_at": 7.0, "ended_at": 8.0}
    assert len(calls) < 4 * len(rows)
