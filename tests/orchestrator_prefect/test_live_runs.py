"""A planned flow is mended while it runs: what stands behind late tasks goes elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from prefect import flow, task

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.directives import Hold
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.repair import replan
from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_prefect import OptimizedTaskRunner
from orchestrator_prefect.sending.epoch import Submission
from orchestrator_prefect.sending.flow_graph import holds

from . import meeting
from .conftest import Advisor

OTHERS = 6


class Priced(Advisor):
    """Believes that each task takes a fifth of a second, and plans all on one worker."""

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        advice = super().advise(graph, cluster, flow)
        if advice.plan is None:
            return advice
        instance = Instance(graph, cluster, np.full((len(graph), len(cluster)), 0.2))
        # Two threads.
        rows = [
            Assignment(name, self.worker, 0.2 * (i // 2), 0.2 * (i // 2 + 1))
            for i, name in enumerate(graph.names)
        ]
        plan = replace(advice.plan, schedule=Schedule(rows), predicted=0.8)
        return replace(advice, plan=plan, instance=instance)


@task
def waits(seconds: float) -> bool:
    return meeting.wait(seconds)


@task
def counts(number: int) -> int:
    meeting.come()
    return number


def body(seconds: float) -> list[Any]:
    """Two tasks fill both threads of a worker; they end when the others have."""
    meeting.open_for(OTHERS)
    stuck = [waits.submit(seconds) for _ in range(2)]
    others = [counts.submit(i) for i in range(OTHERS)]
    return [future.result() for future in (*others, *stuck)]


def test_what_stands_behind_a_late_task_runs_elsewhere(cluster: Any) -> None:
    """Without a repair the others would wait for two tasks that wait for them."""
    replan(Instance.from_arrays(np.ones((1, 2)), []), Schedule([]), 0.0)
    advisor = Priced()
    runner = OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False)
    made = flow(task_runner=runner, name="live")(body)
    assert made(30.0) == [*range(OTHERS), True, True]
    assert made(30.0) == [*range(OTHERS), True, True]
    first, second = advisor.runs
    assert (first.mode, second.mode) == ("observed", "planned")
    places = {record.task: record.worker for record in second.tasks}
    assert {places["waits-0"], places["waits-1"]} == {"0"}
    assert {places[f"counts-{i}"] for i in range(OTHERS)} == {"1"}


def test_holds_speak_of_keys() -> None:
    submissions = [Submission(name, "kind", f"key of {name}") for name in "abc"]
    held = {"a": Hold(frozenset({"b", "gone"}), frozenset({"c"}), 3.0), "gone": Hold()}
    assert holds(held, submissions) == {
        "key of a": Hold(frozenset({"key of b"}), frozenset({"key of c"}), 3.0)
    }
