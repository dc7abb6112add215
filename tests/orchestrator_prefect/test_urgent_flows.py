"""Two flows on one scheduler: tasks of the more urgent one go first as workers become free."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import dask
import numpy as np
import pytest
from prefect import task

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask.plugin import OrchestratorPlugin
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.repair import replan
from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_prefect import OptimizedTaskRunner, optimized_flow

from . import turns
from .conftest import Advisor
from .processes import until

SLOTS, LONG, SHORT = 4, 12, 4
SECONDS = 0.2


class InTurn(Advisor):
    """Gives each thread of each worker the next task, from the first run on."""

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        self.runs = self.runs or [None]  # type: ignore[list-item]
        advice = super().advise(graph, cluster, flow)
        assert advice.plan is not None
        threads = [w.name for w in cluster.workers for _ in range(w.threads)]
        assert len(threads) == SLOTS
        rows = [
            Assignment(name, threads[i % SLOTS], SECONDS * (i // SLOTS), SECONDS * (i // SLOTS + 1))
            for i, name in enumerate(graph.names)
        ]
        instance = Instance(graph, cluster, np.full((len(graph), len(cluster)), SECONDS))
        schedule = Schedule(rows)
        plan = replace(advice.plan, schedule=schedule, predicted=schedule.makespan)
        return replace(advice, plan=plan, instance=instance)


@task
def has_its_turn(flow: str, number: int) -> tuple[str, int]:
    turns.take(flow)
    return flow, number


def long() -> list[Any]:
    return [each.result() for each in [has_its_turn.submit("long", i) for i in range(LONG)]]


def short(priority: int) -> list[Any]:
    with dask.annotate(priority=priority):
        futures = [has_its_turn.submit("short", i) for i in range(SHORT)]
    return [each.result() for each in futures]


def session_on(cluster: Any) -> Any:
    (plugin,) = (p for p in cluster.scheduler.plugins.values() if isinstance(p, OrchestratorPlugin))
    return plugin.session


@pytest.mark.parametrize("priority", [10, 0], ids=["urgent", "as urgent"])
def test_the_urgent_flow_goes_first_and_the_other_goes_on(cluster: Any, priority: int) -> None:
    """Of flows that are as urgent the one goes first that has the least work left: the same."""
    replan(Instance.from_arrays(np.ones((1, 2)), []), Schedule([]), 0.0)
    turns.begin()
    session = session_on(cluster)
    replans = session.counters.replans
    advisors = {name: InTurn() for name in ("long", "short")}

    def made(body: Any) -> Any:
        runner = OptimizedTaskRunner(cluster=cluster, advisor=advisors[body.__name__], report=False)
        return optimized_flow(task_runner=runner)(body)

    def at_workers() -> int:
        """What workers have heard of; what the scheduler has sent may still be on its way."""
        tasks = [key for each in cluster.workers.values() for key in list(each.state.tasks)]
        return sum("has_its_turn" in str(key) for key in tasks)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(made(long))
        until(lambda: len(turns.starts()) == SLOTS and at_workers() == LONG, "all workers are busy")
        second = pool.submit(made(short), priority)
        until(lambda: at_workers() == LONG + SHORT, "the second flow is there")
        # What runs goes on to its end; then come as many as there are free threads.
        turns.allow(SLOTS)
        until(lambda: len(turns.starts()) == SLOTS + SHORT, "the next ones begin")
        until(lambda: session.counters.replans > replans, "the plans are looked at again")
        turns.allow(LONG + SHORT)
        assert first.result() == [("long", i) for i in range(LONG)]
        assert second.result() == [("short", i) for i in range(SHORT)]
    assert turns.starts()[:SLOTS] == ["long"] * SLOTS
    assert turns.starts()[SLOTS : SLOTS + SHORT] == ["short"] * SHORT
    for name, number in (("long", LONG), ("short", SHORT)):
        run = advisors[name].runs[-1]
        assert (run.status, run.mode, len(run.tasks)) == ("ok", "planned", number)
    assert not session.announcements.runs
