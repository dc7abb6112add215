"""Inputs that were computed before: tasks without length where they are, to those who plan."""

from __future__ import annotations

import numpy as np
from distributed import Client, Event, Scheduler, Worker, wait

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask.graphs.snapshot import Snapshot
from orchestrator_core.execute.dask.graphs.stored import SMALLEST, Stored, unbound
from orchestrator_core.execute.dask.steer.slots import slots_of
from orchestrator_core.execute.dask.watch.run_view import views
from orchestrator_core.execute.dask.watch.timeline import Timeline
from orchestrator_core.execute.directives import Slot
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.cluster import Worker as WorkerOf
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.execute.dask.advisors import FixedAdvisor, PricedAdvisor, plugin_of
from tests.execute.dask.cluster import NO_MEMORY, cluster_test, start, stop, until, wait_for

MEGABYTE = 1_000_000


def length(data: bytes, _: int) -> int:
    return len(data)


def reading(**stored: tuple[str, ...]) -> Snapshot:
    """Two tasks that read x, one of which reads y, too."""
    return Snapshot(
        keys=("t", "u"),
        prefixes=("t", "u"),
        inputs=[["x"], ["x", "y"]],
        stored={key: Stored(MEGABYTE, workers) for key, workers in stored.items()},
    )


def test_what_is_stored_is_a_task_without_length_where_it_is() -> None:
    graph = reading(x=("a",), y=("b", "c"), z=("a",)).with_stored
    assert graph.names == ("(stored) x", "(stored) y", "t", "u")  # nobody reads z
    assert [graph.task(name).eligible for name in graph.names] == [("a",), ("b", "c"), None, None]
    assert graph.mode_seconds.tolist()[:2] == [0.0, 0.0]
    assert np.isnan(graph.mode_seconds[2:]).all()
    assert graph.output_bytes.tolist() == [MEGABYTE, MEGABYTE, 0.0, 0.0]
    assert list(zip(graph.producer.tolist(), graph.consumer.tolist(), strict=True)) == [
        (0, 2),
        (0, 3),
        (1, 3),
    ]


def test_the_graph_itself_is_without_them() -> None:
    """It is what is recorded, and learned from."""
    seen = reading(x=("a",))
    assert seen.graph.names == seen.names == ("t", "u")
    assert seen.is_of(seen.with_stored)
    assert not seen.is_of(seen.graph)
    without = reading()
    assert without.with_stored is without.graph
    assert without.is_of(without.graph)


def test_a_task_may_be_called_as_a_stored_input_would_be() -> None:
    seen = Snapshot(
        keys=("(stored) x", "t"),
        prefixes=("s", "t"),
        inputs=[[], ["x", "(stored) x"]],
        stored={"x": Stored(MEGABYTE, ("a",))},
    )
    assert seen.with_stored.names == ("(stored) x#2", "(stored) x", "t")


def test_slots_are_for_its_own_tasks_alone() -> None:
    seen = reading(x=("a",))
    plan = Schedule(
        [
            Assignment("(stored) x", "a", 0.0, 0.0),
            Assignment("t", "b", 1.0, 2.0),
            Assignment("u", "a", 2.0, 3.0),
        ]
    )
    assert slots_of(plan, seen, {"a", "b"}) == {"t": Slot("b", 0), "u": Slot("a", 1)}


def test_what_is_lost_may_come_to_be_anywhere() -> None:
    """Where it is now, a repair is told; elsewhere Dask may make it again."""
    instance = Instance(
        reading(x=("a",)).with_stored,
        Cluster([WorkerOf("a"), WorkerOf("b")]),
        np.array([[0.0, 0.0], [1.0, 2.0], [1.0, 2.0]]),
    )
    assert instance.seconds[0].tolist() == [0.0, np.inf]
    free = unbound(instance, ["(stored) x"])
    assert free.seconds.tolist() == [[0.0, 0.0], [1.0, 2.0], [1.0, 2.0]]
    assert unbound(instance, []) is instance


def on_b(graph: TaskGraph, cluster: Cluster) -> dict[str, str]:
    """All on the second worker that may be."""
    second = cluster.names[1]
    return {name: (graph.task(name).eligible or (second,))[0] for name in graph.names}


@cluster_test(**NO_MEMORY)
async def test_who_plans_is_told_where_inputs_are(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Large ones on one of two workers alone: what is small, or on both, is as good as everywhere.
    The plan is followed and could be mended; its record tells both graphs."""
    advisor = PricedAdvisor(on_b)
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    large = await c.scatter(bytes(MEGABYTE), workers=[a.address], hash=False)
    small = await c.scatter(bytes(SMALLEST // 2), workers=[a.address], hash=False)
    common = await c.scatter(bytes(MEGABYTE), broadcast=True, hash=False)
    graph = {f"t-{i}": (len, each) for i, each in enumerate([large, small, common])}
    futures = c.get(graph, list(graph), sync=False)
    assert await c.gather(futures) == [MEGABYTE, SMALLEST // 2, MEGABYTE]
    ((asked, _, _),) = advisor.asked
    (stored,) = set(asked.names) - graph.keys()
    assert asked.task(stored).eligible == (str(a.name),)
    assert asked.task(stored).output_bytes == s.tasks[large.key].nbytes
    assert asked.kind(asked.index[stored]) == "(stored)"
    assert {s.tasks[key].who_has == {s.workers[b.address]} for key in graph} == {True}
    assert session.last_run is not None
    assert session.last_run.notes == []
    (view,) = views(session).values()
    assert len(Timeline(view.schedule, 0.0, stored=view.stored)) == len(graph)
    await stop(s, plugin)
    (run,) = advisor.runs
    assert run.mode == "planned"
    assert run.plan is not None
    assert set(run.graph.names) == {task.task for task in run.tasks} == graph.keys()
    assert set(run.plan.schedule.task_names) == set(run.planned_graph.names)
    assert run.stored == {stored}


@cluster_test(nthreads=[("127.0.0.1", 1)] * 3, **NO_MEMORY)
async def test_a_stored_input_that_is_lost_on_the_way_costs_nothing_else(
    c: Client, s: Scheduler, a: Worker, b: Worker, third: Worker
) -> None:
    """The worker that holds what was computed before leaves while its readers wait: Dask makes it
    again elsewhere, and the plan is mended for the worker that is left."""
    advisor = PricedAdvisor(on_b)
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    stored = c.submit(bytes, MEGABYTE, key="made-0", workers=[a.address], allow_other_workers=True)
    await wait(stored)
    first = c.submit(wait_for, "go", key="first-0")
    graph = {f"r-{i}": (length, stored, first) for i in range(4)}
    readers = c.get(graph, list(graph), sync=False)
    await until(lambda: "r-0" in s.tasks and s.tasks["r-0"].state == "waiting")
    await a.close()
    await Event("go").set()
    assert await c.gather(readers) == [MEGABYTE] * 4
    assert session.counters.faults == 0
    await stop(s, plugin)


async def read_once(c: Client, turn: int, holder: Worker) -> None:
    """Two tasks read what is on that worker; all of it is over afterwards."""
    stored = await c.scatter(bytes(MEGABYTE), workers=[holder.address], hash=False)
    graph = {f"t-{turn}-{i}": (len, stored) for i in range(2)}
    assert await c.gather(c.get(graph, list(graph), sync=False)) == [MEGABYTE] * 2


class WhereItPays(FixedAdvisor):
    """Plans graphs whose first task may run on worker 1."""

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        self.promise["adopted"] = graph.task(0).eligible == ("1",)
        return super().advise(graph, cluster, flow)


@cluster_test(**NO_MEMORY)
async def test_what_was_declined_is_asked_about_again_where_its_inputs_are_elsewhere(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = plugin_of(WhereItPays(on_b))
    session = await start(s, plugin)
    adopted = []
    for turn, holder in enumerate([a, a, b]):
        await read_once(c, turn, holder)
        await until(lambda: not s.tasks)
        assert session.last_run is not None
        adopted.append(session.last_run.adopted)
    assert adopted == [False, False, True]
    await stop(s, plugin)
