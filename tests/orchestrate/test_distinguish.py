"""Workers that look alike, of which one is faster: found out, planned for, and kept in mind."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from orchestrator_core import Cluster, Orchestrator, RunRecord, TaskGraph, TaskRecord, Worker
from orchestrator_core.orchestrate.alike import ALIKE
from orchestrator_core.plan.budget import Budget
from orchestrator_core.store.memory import MemoryStore
from tests.learn.alike import KIND, lognormal, runs

NAMES = ("0", "1", "2", "3")
TASKS = 60


def alike(*names: str) -> Cluster:
    return Cluster([Worker(name, kind=KIND) for name in names or NAMES])


def graph_of(run: list) -> TaskGraph:
    """The observed tasks, four of which wait for the others of their quarter."""
    kind = {o.task: o.kind for o in run}
    builder = TaskGraph.build()
    for i in range(TASKS):
        after = [f"t{j}" for j in range(i % 4, i, 4)] if i >= TASKS - 4 else []
        builder.task(f"t{i}", kind=kind[f"t{i}"], after=after)
    return builder.done()


def recorded(orchestrator: Orchestrator, speeds: tuple[float, ...], seed: int = 1) -> TaskGraph:
    """Two observed runs of tasks with these speeds; the graph of both."""
    observed = runs(seed, speeds, lognormal, tasks=TASKS, number=2)
    graph = graph_of(observed)
    advice = orchestrator.advise(graph, alike(), "flow")
    for run_id in ("r0", "r1"):
        tasks = [o for o in observed if o.run_id == run_id]
        busy = Counter[str]()
        for each in tasks:
            busy[each.worker] += each.seconds
        records = [TaskRecord(o.task, o.kind, o.worker, KIND, 0.0, o.seconds, 1e3) for o in tasks]
        orchestrator.record(
            RunRecord(
                run_id=run_id,
                flow="flow",
                started_at=0.0,
                seconds=max(busy.values()),
                mode="observed",
                reason=advice.reason,
                graph=graph,
                cluster=alike(),
                graph_signature=advice.graph_signature,
                cluster_signature=advice.cluster_signature,
                tasks=tuple(records),
            )
        )
    return graph


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def taught(store: MemoryStore, *speeds: float) -> TaskGraph:
    first = Orchestrator(store)
    graph = recorded(first, speeds)
    first.close()
    return graph


def test_equal_workers_are_left_to_dask(store: MemoryStore) -> None:
    graph = taught(store, 1, 1, 1, 1)
    advice = Orchestrator(store, budget=Budget(seconds=0.02), hasty=True).advise(
        graph, alike(), "flow"
    )
    assert advice.reason == ALIKE
    assert advice.instance is not None, "an adaptive cluster asks how much there is to do"


@pytest.mark.parametrize("hasty", [False, True])
def test_a_faster_one_among_them_is_planned_for(store: MemoryStore, hasty: bool) -> None:
    graph = taught(store, 4, 1, 1, 1)
    orchestrator = Orchestrator(store, budget=Budget(seconds=0.02), hasty=hasty)
    advice = orchestrator.advise(graph, alike(), "flow")
    assert advice.adopted, advice.reason
    assert advice.instance is not None
    kinds = {worker.name: worker.kind for worker in advice.instance.cluster.workers}
    assert kinds == {"0": f"{KIND}~x4", "1": KIND, "2": KIND, "3": KIND}
    busy = Counter[str]()
    for row in advice.plan.schedule.assignments:
        busy[row.worker] += row.end - row.start
    assert 4 * busy["0"] > 2 * max(busy[name] for name in "123"), "it does more of the work"
    assert advice.plan.schedule.makespan < 0.9 * advice.plan.default_predicted


def test_the_stored_plan_is_found_again_and_another_name_is_another_cluster(
    store: MemoryStore,
) -> None:
    graph = taught(store, 4, 1, 1, 1)
    # Without a budget, what a slow machine found in so short a time would be planned anew.
    brief = Budget(seconds=0.02)
    first = Orchestrator(store, budget=brief)
    assert first.advise(graph, alike(), "flow").plan.cache == "miss"
    first.close()
    again = Orchestrator(store, budget=brief)
    renumbered = alike("3", "2", "0", "1")
    assert again.advise(graph, renumbered, "flow").plan.cache == "hit"
    strangers = alike("a", "b", "c", "d")
    assert not again.advise(graph, strangers, "flow").adopted


def test_records_are_kept_by_the_kind_that_the_worker_says_that_it_is(store: MemoryStore) -> None:
    graph = taught(store, 4, 1, 1, 1)
    advice = Orchestrator(store).advise(graph, alike(), "flow")
    observed = Orchestrator(MemoryStore()).advise(graph, alike(), "flow")
    assert advice.cluster_signature == observed.cluster_signature


def test_tasks_that_ask_for_the_kind_may_run_on_the_finer_one(store: MemoryStore) -> None:
    graph = taught(store, 4, 1, 1, 1)
    only = tuple(replace(demand, eligible=(KIND,)) for demand in graph.demands)
    instance = Orchestrator(store).price(replace(graph, demands=only), alike())
    assert len(instance.cluster.kinds) == 2
    assert instance.eligible.all()
