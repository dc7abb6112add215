"""Status, gantt and why: what is told about a live run agrees with what is known of it."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgpack
import pytest
from distributed import Client, Event, Scheduler, Worker
from distributed.core import Status as WorkerStatus

from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask import OrchestratorPlugin, client
from orchestrator_core.execute.dask.session import Session
from orchestrator_core.execute.dask.watch import status
from orchestrator_core.execute.dask.watch.status import Status
from orchestrator_core.execute.dask.watch.why import why
from orchestrator_core.execute.directives import Hold
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import add, cluster_test, layers, start, stop, until, wait_for

PROMISE = {"lower_bound": 2.5, "default_predicted": 30.0, "planner": "search", "cache": "hit"}


def chain() -> dict[str, Any]:
    """``gate`` waits for the event "go"; then ``next``, then ``last``; and six that need nobody."""
    graph: dict[str, Any] = {"gate": (wait_for, "go"), "next": (add, "gate"), "last": (add, "next")}
    return graph | {f"free-{i}": (add,) for i in range(6)}


def gate_alone(graph: TaskGraph, cluster: Cluster) -> dict[str, str]:
    """The chain on the first worker, what needs nobody on the last."""
    return {name: cluster.names[-1 if name.startswith("free") else 0] for name in graph.names}


async def submitted(
    c: Client, s: Scheduler, plugin: OrchestratorPlugin
) -> tuple[Session, Status, list[Any]]:
    """The chain has begun, its gate is shut and all that needs nobody is done."""
    session = await start(s, plugin)
    graph = chain()
    futures = c.get(graph, list(graph), sync=False)
    await until(lambda: len(session.runs) == 1 and len(session.runs[0].open) == 3)
    return session, Status(session), futures


async def finish(c: Client, s: Scheduler, plugin: OrchestratorPlugin, futures: list[Any]) -> None:
    await Event("go").set()
    await c.gather(futures)
    await stop(s, plugin)


@cluster_test()
async def test_a_planned_run_at_a_glance(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor(gate_alone, **PROMISE))
    session, told, futures = await submitted(c, s, plugin)
    picture = told.picture()
    assert json.loads(json.dumps(picture)) == picture
    assert msgpack.loads(msgpack.dumps(picture)) == picture
    assert (picture["mode"], picture["withdrawn"]) == ("director", None)
    (run,) = picture["runs"]
    assert (run["flow"], run["tasks"], run["done"]) == ("free+gate+last", 9, 6)
    assert (run["mode"], run["reason"]) == ("planned", "because the test says so")
    assert (run["predicted"], run["lower_bound"], run["default_predicted"]) == (9.0, 2.5, 30.0)
    assert (run["planner"], run["cache"], run["closed"]) == ("search", "hit", False)
    assert run["late_by"] is None, "a plan without prices cannot be compared with what happens"
    assert [w["name"] for w in picture["workers"]] == [str(a.name), str(b.name)]
    assert [w["threads"] for w in picture["workers"]] == [1, 1]
    assert all(w["running"] and w["speed"] == 1.0 for w in picture["workers"])
    assert picture["counters"]["placed"] == session.counters.placed == 7
    await finish(c, s, plugin, futures)


@cluster_test()
async def test_a_paused_worker_is_shown_as_one(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    told = Status(await start(s, plugin))
    b.status = WorkerStatus.paused
    await until(lambda: len(s.running) == 1)
    rows = {row["name"]: row for row in told.picture()["workers"]}
    assert (rows[str(a.name)]["running"], rows[str(b.name)]["running"]) == (True, False)
    assert (rows[str(b.name)]["status"], rows[str(b.name)]["speed"]) == ("paused", None)
    await stop(s, plugin)


@cluster_test()
async def test_the_last_run_is_shown_until_there_is_another(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(advisor=(advisor := FixedAdvisor(**PROMISE)))
    told = Status(await start(s, plugin))
    assert told.picture()["runs"] == []
    with pytest.raises(InvalidInput, match=r"no run is under way$"):
        told.gantt()
    shown = []
    for tag in ("first", "second"):
        graph, keys = layers(tag=tag)
        await c.gather(c.get(graph, keys, sync=False))
        (run,) = told.picture()["runs"]
        assert (run["flow"], run["closed"], run["done"]) == (tag, True, 18)
        assert run["late_by"] == pytest.approx(run["seconds"] - 18.0)
        shown.append(run["run_id"])
    await stop(s, plugin)
    assert [run.run_id for run in advisor.runs] == shown, "stored under the same ids"


@cluster_test()
async def test_counters_of_graphs(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    advisor = FixedAdvisor(planning_seconds=0.5, **PROMISE | {"default_predicted": 9.0})
    plugin = OrchestratorPlugin(advisor=advisor, min_gain=0.0)
    counters = (await start(s, plugin)).counters
    for tag, promise in (("a", {}), ("b", {}), ("c", {"adopted": False})):
        advisor.promise |= promise
        graph, keys = layers(tag=tag, width=6)
        await c.gather(c.get(graph, keys, sync=False))
    few, keys = layers(width=2, depth=2, tag="few")
    await c.gather(c.get(few, keys, sync=False))
    await until(lambda: counters.graphs_observed == 1)
    assert (counters.graphs_planned, counters.graphs_declined) == (0, 3), "9 s is no 18 s"
    assert (counters.plan_seconds, counters.gain_seconds) == (1.5, 0.0)
    advisor.promise |= {"adopted": True, "default_predicted": 20.0}
    graph, keys = layers(tag="d")
    await c.gather(c.get(graph, keys, sync=False))
    assert (counters.graphs_planned, counters.gain_seconds) == (1, 2.0)
    await stop(s, plugin)


@cluster_test()
async def test_withdrawing_says_why(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    session = await start(s, plugin)
    told = Status(session)
    session.fault("here", RuntimeError("first"))
    assert (told.picture()["withdrawn"], told.picture()["counters"]["faults"]) == (None, 1)
    session.fault("there", RuntimeError("second"))
    await until(lambda: session.mode == "off")
    assert "second" in told.picture()["withdrawn"]
    await stop(s, plugin)


@cluster_test()
async def test_plan_and_reality_row_by_row(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    advisor = FixedAdvisor(gate_alone)
    plugin = OrchestratorPlugin(advisor=advisor)
    _, told, futures = await submitted(c, s, plugin)
    where = {row.task: row.worker for row in advisor.plans[0].assignments}
    gantt = told.gantt()
    assert [row[0] for row in gantt["planned"]] == [r.task for r in advisor.plans[0].assignments]
    assert {row[0]: row[2] for row in gantt["planned"]} == where
    assert [row[3] for row in gantt["planned"]] == [float(i) for i in range(9)]
    assert {row[0] for row in gantt["recorded"]} == {f"free-{i}" for i in range(6)}
    assert all(row[2] == where[row[0]] and row[5] == "ok" for row in gantt["recorded"])
    assert all(0 <= row[3] <= row[4] for row in gantt["recorded"])
    ((key, kind, worker, *_),) = gantt["open"]
    assert (key, kind, worker) == ("gate", "gate", where["gate"])
    await until(lambda: told.gantt()["open"][0][3] == "running")
    assert 0 <= told.gantt()["open"][0][4] <= told.gantt()["now"]
    await finish(c, s, plugin, futures)


@cluster_test()
async def test_an_answer_is_bounded_and_goes_on_where_the_last_ended(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor(gate_alone))
    _, told, futures = await submitted(c, s, plugin)
    whole = told.gantt()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(status, "CHUNK", 4)
        first = told.gantt()
        assert (len(first["planned"]), len(first["recorded"])) == (4, 4)
        assert (first["planned_total"], first["recorded_total"]) == (9, 6)
        then = told.gantt(first["run"]["run_id"], 4, 4, first["version"])
        assert first["planned"] + then["planned"] == whole["planned"][:8]
        assert first["recorded"] + then["recorded"] == whole["recorded"]
        stale = told.gantt(None, 4, 4, first["version"] + 1)
        assert (stale["planned_from"], stale["planned"]) == (0, first["planned"])
    await finish(c, s, plugin, futures)


@cluster_test()
async def test_a_mended_plan_keeps_what_was_planned_for_the_past(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor(gate_alone)
    plugin = OrchestratorPlugin(advisor=advisor)
    session, told, futures = await submitted(c, s, plugin)
    first = told.gantt()
    before = {row[0]: row for row in first["planned"]}
    mended = Schedule(
        Assignment(row.task, row.worker, 0.0, 0.5)
        if row.task.startswith("free")
        else Assignment(row.task, row.worker, row.start + 50, row.end + 50)
        for row in advisor.plans[0].assignments
    )
    steered = SimpleNamespace(course=SimpleNamespace(schedule=mended), expected_end=60.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session.control, "get", lambda run: steered)
        after = told.gantt(None, 9, 6, first["version"])
    assert (after["version"], after["planned_from"]) == (first["version"] + 1, 0)
    assert (after["run"]["expected_end"], after["run"]["late_by"]) == (60.0, 51.0)
    for row in after["planned"]:
        later = 0 if row[0].startswith("free") else 50
        assert row[3:] == tuple(time + later for time in before[row[0]][3:])
    await finish(c, s, plugin, futures)


@cluster_test()
async def test_why_tells_the_plan_and_the_chain(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor(gate_alone)
    plugin = OrchestratorPlugin(advisor=advisor)
    session, told, futures = await submitted(c, s, plugin)
    plan = {row.task: row for row in advisor.plans[0].assignments}
    answer = why(told, "last")
    assert json.loads(json.dumps(answer)) == answer
    assert (answer["key"], answer["state"], answer["stage"]) == ("last", "waiting", "planned")
    planned = dict(answer["planned"])
    before = session.steering.follower.slots["next"]
    assert planned.pop("rank") > before.rank, "whether the plan was mended meanwhile or not"
    assert planned == {
        "worker": plan["last"].worker,
        "start": plan["last"].start,
        "end": plan["last"].end,
    }
    assert [(link["key"], link["because"]) for link in answer["waits_for"]] == [
        ("next", "input"),
        ("gate", "input"),
    ]
    assert answer["waits_for"][1]["stage"] == "placed"
    assert answer["waits_for"][1]["worker"] == plan["gate"].worker
    done = why(told, "free-0")
    assert (done["state"], done["stage"], done["waits_for"]) == ("memory", "finished", [])
    assert done["worker"] == plan["free-0"].worker
    (ran,) = (record for key, record in session.runs[0].records() if key == "free-0")
    assert done["ran"] == {
        "worker": ran.worker,
        "start": ran.start,
        "end": ran.end,
        "status": "ok",
        "attempt": 1,
    }
    assert answer["ran"] is None
    assert why(told, "ne")["key"] == "next", "the beginning of a key will do"
    assert why(told, "free") == {"unknown": ["free-0", "free-1", "free-2"]}
    assert why(told, "nothing") == {"unknown": []}
    await finish(c, s, plugin, futures)


@cluster_test()
async def test_why_says_until_when_a_task_is_held(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """In seconds from the start of the run, as all times are that it tells."""

    class Holding(FixedAdvisor):
        def promised(self, schedule: Schedule) -> Advice:
            holds = {"free-0": Hold(done=frozenset({"gate"}), patience=60.0)}
            return replace(super().promised(schedule), holds=holds)

    plugin = OrchestratorPlugin(mode="director", advisor=Holding(gate_alone))
    session = await start(s, plugin)
    graph = chain()
    futures = c.get(graph, list(graph), sync=False)
    await until(lambda: "free-0" in session.steering.follower.held)
    answer = why(Status(session), "free-0")
    assert (answer["state"], answer["stage"]) == ("no-worker", "held")
    assert 59.0 < answer["held_until"] <= 60.0 + answer["now"]
    assert why(Status(session), "gate")["held_until"] is None
    await finish(c, s, plugin, futures)


@cluster_test(nthreads=[("127.0.0.1", 1)])
async def test_a_task_that_was_sent_waits_for_its_worker(
    c: Client, s: Scheduler, worker: Worker
) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    told = Status(await start(s, plugin))
    busy = c.submit(wait_for, "go", key="busy")
    (place,) = s.workers.values()
    await until(lambda: bool(place.executing))
    behind = c.submit(add, key=("behind", 1))
    await until(lambda: len(place.processing) == 2)
    answer = why(told, "('behind', 1)")
    assert (answer["state"], answer["planned"], answer["run_id"]) == ("processing", None, None)
    ((link),) = answer["waits_for"]
    assert (link["key"], link["because"], link["state"]) == ("busy", "worker", "running")
    await finish(c, s, plugin, [busy, behind])


@cluster_test()
async def test_an_announced_run_is_shown_without_times(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(mode="observe", advisor=FixedAdvisor())
    told = Status(await start(s, plugin))
    await client.begin(c, "flow-run", [("x", "first", "load"), ("y", "second", "fit")])
    x = c.submit(add, key="x")
    assert await x == 1
    (run,) = told.picture()["runs"]
    assert (run["mode"], run["tasks"], run["done"]) == ("announced", 2, 1)
    ran = why(told, "x")["ran"]
    assert [ran["worker"]] == why(told, "x")["worker"].split()
    assert ran["attempt"] == 1
    gantt = told.gantt("flow")
    assert (gantt["planned"], gantt["planned_total"]) == ([], 0)
    assert [row[:2] for row in gantt["recorded"]] == [("x", "load")]
    await stop(s, plugin)


def broken(*inputs: Any) -> int:
    raise KeyError("broken")


@cluster_test()
async def test_what_fails_with_its_input_has_come_to_its_end(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """No worker runs it, so that nothing of it is recorded."""
    plugin = OrchestratorPlugin(mode="observe", advisor=FixedAdvisor())
    told = Status(await start(s, plugin))
    await client.begin(c, "flow-run", [(key, key, "k") for key in ("x", "y", "z")])
    first = c.submit(broken, key="x")
    second = c.submit(broken, first, key="y")
    with pytest.raises(KeyError):
        await second
    (run,) = told.picture()["runs"]
    assert (run["tasks"], run["done"], told.gantt()["recorded_total"]) == (3, 2, 1)
    await stop(s, plugin)


@cluster_test()
async def test_of_very_many_tasks_at_workers_no_more_are_looked_at_than_are_shown(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """A page asks once a second, on the event loop: two run, ten were sent, and three are shown."""
    plugin = OrchestratorPlugin(mode="director", advisor=FixedAdvisor(), min_tasks=1, plan_wait=5.0)
    session = await start(s, plugin)
    told = Status(session)
    graph = {f"w{i}": (wait_for, "go") for i in range(12)}
    futures = c.get(graph, list(graph), sync=False)
    await until(lambda: sum(len(state.processing) for state in s.workers.values()) == 12)
    await until(lambda: all(len(state.executing) == 1 for state in s.workers.values()))
    view, asked = told.find(None), list[Any]()
    label = view.label

    def counted(key: Any) -> tuple[str, str] | None:
        asked.append(key)
        return label(key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view, "label", counted)
        patch.setattr(status, "CHUNK", 3)
        rows = told._open(view)
    assert [row[3] for row in rows] == ["running", "running", "sent"]
    assert len(asked) == 3
    await finish(c, s, plugin, futures)
