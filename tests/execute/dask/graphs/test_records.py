"""What happened is recorded: who ran what, when, how often, and how it ended."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from distributed import Client, Event, Scheduler, Worker, wait

from orchestrator_core.execute.dask import OrchestratorPlugin, session
from orchestrator_core.execute.dask.graphs import runs
from orchestrator_core.execute.dask.graphs.runs import GraphRun
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.signature import cluster_signature, graph_signature
from tests.execute.dask.advisors import FixedAdvisor
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

NOT_MEASURED = (None, None, 0.0, None)
"""The end of what is noted of an execution."""


@cluster_test()
async def test_observing_records_everything_and_steers_nothing(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode="observe", advisor=advisor)
    await start(s, plugin)
    graph, keys = layers(width=5, depth=3)
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 5
    await stop(s, plugin)
    (run,) = advisor.runs
    assert advisor.asked == []
    assert (run.mode, run.status, run.flow, run.plan) == ("observed", "ok", "t", None)
    assert sorted(record.task for record in run.tasks) == sorted(graph)
    assert {record.worker for record in run.tasks} <= {str(a.name), str(b.name)}
    assert {record.kind for record in run.tasks} == {"t"}
    assert all(0 <= r.start <= r.end <= run.seconds for r in run.tasks)
    assert all(r.nbytes > 0 and r.attempt == 1 and r.status == "ok" for r in run.tasks)
    assert run.graph.n_edges == 20
    assert run.graph_signature == graph_signature(run.graph).digest
    assert run.cluster_signature == cluster_signature(run.cluster).digest
    assert RunRecord.from_json(run.to_json()) == run


@pytest.mark.parametrize("mode", ["director", "restrict", "observe"])
@cluster_test(nthreads=[])
async def test_a_graph_that_came_before_any_worker_is_no_other(
    c: Client, s: Scheduler, mode: str
) -> None:
    """As on an adaptive cluster, which has none as long as there is nothing to do."""
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode=mode, advisor=advisor, min_tasks=1)
    session = await start(s, plugin)
    graph, keys = layers(width=5, depth=3)
    futures = c.get(graph, keys, sync=False)
    gone = c.get(*layers(tag="gone"), sync=False)
    await until(lambda: len(s.tasks) == 15 + 18)
    await c.cancel(gone)
    await until(lambda: not any(str(key).startswith("gone") for key in s.tasks))
    assert not session.runs
    async with Worker(s.address, nthreads=1, name="first"):
        assert await c.gather(futures) == [result()] * 5
        s.validate_state()
        await stop(s, plugin)
    (run,) = advisor.runs
    assert (run.flow, run.cluster.names, len(run.tasks)) == ("t", ("first",), 15)
    assert len(advisor.asked) == (mode != "observe")


@cluster_test()
async def test_the_flow_is_named_after_the_most_frequent_kinds(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    live = await start(s, plugin)
    graph: dict[str, Any] = {f"load-{i}": (add,) for i in range(4)}
    graph |= {f"mend-{i}": (add, f"load-{i}") for i in range(3)}
    graph |= {"join-0": (add, "mend-0", "mend-1", "mend-2"), "end-0": (add, "join-0", "load-3")}
    futures = c.get(graph, ["end-0"], sync=False)
    await wait(futures)
    assert live.advisory.is_ready
    await stop(s, plugin)
    assert plugin.advisor.asked[0][2] == "load+mend+end"  # type: ignore[union-attr]


@cluster_test()
async def test_a_transfer_is_seen_by_the_task_that_waited_for_it(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    names = [str(a.name), str(b.name)]
    advisor = FixedAdvisor(lambda graph, _: {n: names[int(n.split("-")[1])] for n in graph.names})
    plugin = OrchestratorPlugin(advisor=advisor, min_tasks=2)
    await start(s, plugin)
    graph = {"big-0": (bytes, 1_000_000), "small-1": (len, "big-0")}
    (future,) = c.get(graph, ["small-1"], sync=False)
    assert await future == 1_000_000
    await stop(s, plugin)
    by_task = {record.task: record for record in advisor.runs[0].tasks}
    assert by_task["big-0"].nbytes >= 1_000_000
    assert by_task["big-0"].transfer_seconds == 0
    assert by_task["small-1"].transfer_seconds > 0
    assert by_task["small-1"].worker == str(b.name)


def fail(*inputs: int) -> int:
    raise ArithmeticError("meant")


@cluster_test()
async def test_a_failed_graph_is_recorded_as_failed(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor)
    await start(s, plugin)
    graph: dict[str, Any] = {f"fine-{i}": (add,) for i in range(8)}
    graph |= {"bad-0": (fail, "fine-0"), "never-0": (add, "bad-0")}
    futures = c.get(graph, list(graph), sync=False)
    await wait(futures)
    with pytest.raises(ArithmeticError, match="meant"):
        await futures[-1]
    await until(lambda: bool(advisor.runs))
    await stop(s, plugin)
    (run,) = advisor.runs
    assert run.status == "failed"
    statuses = {record.task: record.status for record in run.tasks}
    assert statuses.pop("bad-0") == "failed"
    assert set(statuses.values()) == {"ok"}
    assert "never-0" not in statuses, "what never ran has no record"


def fail_once(event: str) -> int:
    if not Event(event).is_set():
        Event(event).set()
        raise ArithmeticError("once")
    return 1


@cluster_test()
async def test_a_retry_is_a_second_attempt(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor, min_tasks=2)
    await start(s, plugin)
    futures = c.map(fail_once, ["x", "y"], key=["r-0", "r-1"], retries=2)
    assert await c.gather(futures) == [1, 1]
    await stop(s, plugin)
    (run,) = advisor.runs
    assert sorted((r.task, r.attempt) for r in run.tasks if r.status == "ok") == [
        ("r-0", 2),
        ("r-1", 2),
    ]
    assert run.status == "ok"


@cluster_test()
async def test_a_cancelled_graph_is_recorded_as_cancelled(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor)
    live = await start(s, plugin)
    graph: dict[str, Any] = {"done-0": (add,)} | {
        f"gate-{i}": (wait_for, "gate", "done-0") for i in range(9)
    }
    futures = c.get(graph, list(graph), sync=False)
    await until(lambda: "done-0" in s.tasks and s.tasks["done-0"].state == "memory")
    await c.cancel(futures)
    await until(lambda: not s.tasks)
    await Event("gate").set()
    assert len(live.recorder) == len(live.steering.follower) == 0
    await stop(s, plugin)
    (run,) = advisor.runs
    assert run.status == "cancelled"
    assert [record.task for record in run.tasks] == ["done-0"]
    assert sorted(run.dropped) == [f"gate-{i}" for i in range(9)]


@cluster_test()
async def test_a_graph_under_way_is_recorded_when_the_plugin_goes(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor)
    await start(s, plugin)
    graph: dict[str, Any] = {"done-0": (add,)} | {
        f"gate-{i}": (wait_for, "later", "done-0") for i in range(9)
    }
    futures = c.get(graph, list(graph), sync=False)
    await until(lambda: "done-0" in s.tasks and s.tasks["done-0"].state == "memory")
    await stop(s, plugin)
    await Event("later").set()
    assert await c.gather(futures) == [1] * 10
    (run,) = advisor.runs
    assert (run.status, [record.task for record in run.tasks]) == ("cancelled", ["done-0"])


@cluster_test()
async def test_single_tasks_are_no_runs(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor, min_tasks=1)
    live = await start(s, plugin)
    assert await c.submit(add, 1) == 2
    assert len(live.recorder) == 0
    await stop(s, plugin)
    assert advisor.runs == []


@cluster_test()
async def test_tasks_whose_output_exists_are_left_out(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor)
    await start(s, plugin)
    graph, keys = layers()
    first = c.get(graph, ["t-0-0", "t-0-1", "t-0-2"], sync=False)
    await wait(first)
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    await stop(s, plugin)
    assert len(advisor.asked) == 1, "three tasks alone are too few to plan"
    planned = advisor.asked[0][0]
    assert len(planned) == 15
    assert not {"t-0-0", "t-0-1", "t-0-2"} & set(planned.names)


@cluster_test()
async def test_open_graphs_are_bounded(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "OPEN_RUNS", 2)
        advisor = FixedAdvisor()
        plugin = OrchestratorPlugin(advisor=advisor)
        live = await start(s, plugin)
        futures = []
        for i in range(5):
            futures += c.map(wait_for, ["bound"] * 2, key=[f"g{i}-0", f"g{i}-1"])
        await until(lambda: len(s.tasks) == 10)
        assert len(live.recorder) == 4
        await Event("bound").set()
        await wait(futures)
        await stop(s, plugin)
    assert sorted(run.flow for run in advisor.runs) == ["g3", "g4"]


def test_a_graph_keeps_a_bounded_number_of_records() -> None:
    from orchestrator_core.execute.dask.graphs.snapshot import Snapshot
    from orchestrator_core.graph.cluster import Cluster
    from orchestrator_core.graph.cluster import Worker as Place

    snapshot = Snapshot(keys=("a",), prefixes=("a",), inputs=((),))
    done: list[GraphRun] = []
    run = GraphRun(snapshot, Cluster([Place("w")]), 0.0, done.append)
    for i in range(100):
        run.add(
            ("a", "ok", ("w", "worker"), float(i), float(i), 0.0, 0.0, 1, None, None, 0.0, None)
        )
    assert len(run.finished().record().tasks) == runs.RECORDS_PER_TASK
    run.settle("a", "ok")
    run.settle("a", "failed")
    run.close("cancelled")
    assert done == [run], "an end is told once"
    assert run.finished().record().status == "ok"


def test_a_run_that_waits_for_a_busy_scheduler_shares_it() -> None:
    """15,000 tasks of nothing had no thread for a second, and let nobody else have one for 15."""
    from orchestrator_core.execute.dask.graphs.snapshot import Snapshot
    from orchestrator_core.graph.cluster import Cluster
    from orchestrator_core.graph.cluster import Worker as Place

    def others(executed: int, start: float) -> float:
        snapshot = Snapshot(keys=("a",), prefixes=("a",), inputs=((),))
        run = GraphRun(snapshot, Cluster([Place("w", threads=2)]), 0.0, lambda run: None)
        run.worked_before, run.executed_before = 100.0, 50
        ended = ("a", "ok", ("w", "worker"), start, start + 2, 0.0, 0.0, 1, None, None, 0.0, None)
        run.add(ended)
        run.see_others(102.5, executed)
        return run.others

    assert others(executed=51, start=18.0) == 0.5, "nobody else's ended"
    assert others(executed=15_051, start=18.0) == 0.5 + 2 * 15.0
    assert others(executed=15_051, start=3.0) == 0.5 + 2 * 3.0, "no longer than it waited"


@cluster_test()
async def test_many_tasks_that_take_no_time_are_not_kept(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Recording 20,000 of them takes longer than running them, and nobody can make them faster."""
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode="observe", advisor=advisor)
    await start(s, plugin)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "MANY", 18)
        graph, keys = layers(tag="many")
        await c.gather(c.get(graph, keys, sync=False))
        graph, keys = layers(width=5, tag="few")
        await c.gather(c.get(graph, keys, sync=False))
        patch.setattr(runs, "TRIVIAL", 0.0)
        graph, keys = layers(tag="long")
        await c.gather(c.get(graph, keys, sync=False))
    await stop(s, plugin)
    assert [run.flow for run in advisor.runs] == ["few", "long"]


@pytest.mark.parametrize(("trivial", "recorded"), [(1.0, 0), (0.0, 18)])
@cluster_test()
async def test_a_graph_too_large_for_a_plan_is_not_watched_once_its_tasks_are_known_to_be_trivial(
    c: Client, s: Scheduler, a: Worker, b: Worker, trivial: float, recorded: int
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode="observe", advisor=advisor, max_tasks=17)
    session = await start(s, plugin)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "MANY", 6)
        patch.setattr(runs, "TRIVIAL", trivial)
        graph, keys = layers()
        assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    run = session.last_run
    assert run is not None
    assert run.closed
    assert len(run.ended) == (recorded or 6)
    assert len(session.recorder) == 0
    await stop(s, plugin)
    assert [len(each.tasks) for each in advisor.runs] == ([recorded] if recorded else [])


@cluster_test()
async def test_a_graph_that_is_too_large_is_not_asked_about(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode="director", advisor=advisor, max_tasks=17)
    await start(s, plugin)
    graph, keys = layers()
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    await stop(s, plugin)
    assert advisor.asked == []
    assert advisor.runs[0].reason == "left to Dask: 18 tasks; at most 17 are planned"


def test_a_run_that_is_over_travels_and_gives_the_same_record() -> None:
    from orchestrator_core.execute.dask.graphs.snapshot import Snapshot
    from orchestrator_core.graph.cluster import Cluster
    from orchestrator_core.graph.cluster import Worker as Place
    from orchestrator_core.graph.task_graph import Demand

    keys = (("load-0a1b", 0), ("load-0a1b", 1), "sum-2c3d")
    snapshot = Snapshot(
        keys=keys,
        prefixes=("load", "load", "sum"),
        inputs=((), (), keys[:2]),
        pins={keys[0]: Demand(eligible=("w",))},
        # A user's own object, of a class that no other process has.
        stated={"sum-2c3d": type("Mine", (dict,), {})(seconds=7, kind="total")},
    )
    run = GraphRun(snapshot, Cluster([Place("w")]), 5.0, lambda run: None)
    for i, key in enumerate(keys):
        run.add(
            (key, "ok", ("w", "worker"), float(i), i + 1.5, 8.0, 0.25, 1, None, None, 0.0, None)
        )
        run.settle(key, "ok")
    finished = run.finished()
    record = pickle.loads(pickle.dumps(finished)).record()
    assert record == finished.record()
    assert [task.task for task in record.tasks] == list(snapshot.names)
    assert [task.kind for task in record.tasks] == ["load", "load", "total"]
    assert record.graph.mode_seconds.tolist()[2] == 7.0, "what the user said is part of the graph"
    assert record.seconds == 3.5
    assert (record.status, record.mode) == ("ok", "observed")
