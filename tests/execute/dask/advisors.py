"""Advisors for tests: they plan by a fixed rule and remember what they are told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.engine.retime import retime
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.promises import promised

Rule = Callable[[TaskGraph, Cluster], dict[str, str]]


def scattered(graph: TaskGraph, cluster: Cluster) -> dict[str, str]:
    """Where Dask would hardly put them: by the place in the reversed order of names."""
    backwards = sorted(graph.names, reverse=True)
    return {name: cluster.names[i % len(cluster)] for i, name in enumerate(backwards)}


class FixedAdvisor:
    """Plans by `rule`, one second for each task, in topological order; keeps all runs."""

    def __init__(self, rule: Rule = scattered, **promise: Any) -> None:
        self.rule = rule
        self.promise = promise
        self.asked: list[tuple[TaskGraph, Cluster, str]] = []
        self.plans: list[Schedule] = []
        self.runs: list[RunRecord] = []
        self.closed = 0

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        self.asked.append((graph, cluster, flow))
        return self.promised(self.schedule(graph, cluster))

    def schedule(self, graph: TaskGraph, cluster: Cluster) -> Schedule:
        where = self.rule(graph, cluster)
        order = [graph.names[i] for i in graph.topological.tolist()]
        return Schedule(
            Assignment(name, where[name], start=float(i), end=float(i + 1))
            for i, name in enumerate(order)
            if name in where
        )

    def promised(self, schedule: Schedule) -> Advice:
        self.plans.append(schedule)
        plan = promised(schedule, **self.promise)
        return Advice(plan, plan.reason, "graph", "cluster")

    def record(self, run: RunRecord) -> None:
        self.runs.append(run)

    def close(self) -> None:
        self.closed += 1


class Declining(FixedAdvisor):
    """Has nothing to say for a plan."""

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        return Advice(None, "it gains nothing")


PLANS = {"planned": FixedAdvisor, "left to Dask": Declining}
"""Whoever places tasks."""


class RaisingAdvisor(FixedAdvisor):
    """Breaks the law: it raises wherever it can."""

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        raise RuntimeError("no advice")

    def record(self, run: RunRecord) -> None:
        raise RuntimeError("no memory")

    def close(self) -> None:
        raise RuntimeError("no end")


class HangingAdvisor(FixedAdvisor):
    """Thinks until `go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        self.go.wait()
        return super().advise(graph, cluster, flow)


class NonsenseAdvisor(FixedAdvisor):
    """Plans tasks or workers that do not exist, or a task twice."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def schedule(self, graph: TaskGraph, cluster: Cluster) -> Schedule:
        task = "no such task" if self.kind == "task" else graph.names[0]
        worker = "no such worker" if self.kind == "worker" else cluster.names[0]
        return Schedule([Assignment(task, worker, 0.0, 1.0)] * (2 if self.kind == "twice" else 1))


class PricedAdvisor(FixedAdvisor):
    """Plans by a rule, and says what it believes each task to take."""

    def __init__(self, rule: Rule, seconds: float = 0.01, **advice: Any) -> None:
        super().__init__(rule)
        self.seconds, self.advice = seconds, advice

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        self.asked.append((graph, cluster, flow))
        instance = Instance(graph, cluster, np.full((len(graph), len(cluster)), self.seconds))
        places = self.rule(graph, cluster)
        independent = not len(graph.producer)
        order = np.argsort(graph.names) if independent else graph.topological
        rows = [
            Assignment(graph.names[i], places[graph.names[i]], float(at), at + 1.0)
            for at, i in enumerate(order)
        ]
        plan = promised(retime(instance, Schedule(rows)))
        return Advice(plan, plan.reason, instance=instance, **self.advice)


def all_on_first(graph: TaskGraph, cluster: Cluster) -> dict[str, str]:
    return dict.fromkeys(graph.names, cluster.names[0])


def plugin_of(advisor: FixedAdvisor, **options: Any) -> OrchestratorPlugin:
    """A director that waits for the plan of every graph, however small."""
    usual = {"mode": "director", "min_tasks": 1, "plan_wait": 5.0}
    return OrchestratorPlugin(advisor=advisor, **(usual | options))
