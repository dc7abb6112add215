"""Earlier runs of flows, and an advisor that plans them well: what durations are is known to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.costs.model import TableCosts
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import PlanRecord, RunRecord, TaskRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_prefect.sending.epoch import Submission
from orchestrator_prefect.sending.flow_graph import flow_graph
from orchestrator_prefect.sending.waited_for import bursts
from orchestrator_prefect.sending.waits import Waits

Seconds = Mapping[tuple[str, str], float]


class Code:
    """The code of a flow, which submits, waits and computes."""

    def __init__(self) -> None:
        self.waits = Waits()
        self.submitted: dict[str, Submission] = {}
        self.ends: dict[str, float] = {}
        self.now = 0.0

    def submit(
        self, *names: str, after: Sequence[str] = (), waits_for: Sequence[str] = (), **of: object
    ) -> list[Submission]:
        """Submit tasks with these inputs; what stands before the dash is their kind."""
        made = [
            Submission(
                name,
                name.rpartition("-")[0],
                f"key of {name}",
                tuple(after),
                tuple(waits_for),
                of,
                past=self.waits.now(),
                went=self.now,
            )
            for name in names
        ]
        self.submitted.update((each.name, each) for each in made)
        return made

    def wait(self, *names: str, until: float = 0.0, pause: float = 0.0) -> None:
        """The tasks have ended at that second; then the code takes a while."""
        for name in names:
            self.ends[name] = until
            self.waits.ended(name, self.submitted[name].past)
        self.now = max(self.now, until) + pause

    def run(self, run_id: str = "1", flow: str = "flow") -> RunRecord:
        """The record of it."""
        graph = flow_graph(self.submitted.values())
        return RunRecord(
            run_id=run_id,
            flow=flow,
            started_at=0.0,
            seconds=1.0,
            mode="observed",
            reason="",
            graph=graph,
            cluster=Cluster([Worker("w")]),
            graph_signature=run_id,
            cluster_signature="c",
            tasks=tuple(
                TaskRecord(name, "k", "w", "", 0.0, end) for name, end in self.ends.items()
            ),
            bursts=bursts(self.submitted.values(), self.ends),
        )


def plan_for(graph: TaskGraph, cluster: Cluster, seconds: Seconds) -> Advice:
    """The best plan that a short search finds, and the bound that is proven; always adopted."""
    from orchestrator_core.plan.portfolio import plan

    instance = Instance.price(graph, cluster, TableCosts(seconds))
    found = plan(instance, Budget(iterations=300), None)
    made = PlanRecord(
        found.schedule,
        found.makespan,
        found.lower_bound,
        found.bound_method,
        found.planner,
        "miss",
        adopted=True,
        reason="planned for a test",
        default_predicted=2 * found.makespan,
    )
    return Advice(made, made.reason, "g", "c", instance=instance)


@dataclass
class Knowing:
    """An advisor that knows earlier runs, the newest first.

    Attributes:
        answer: what it says of a graph. asked: the graphs. runs: what it was told. read: how many
            earlier runs somebody looked at.
    """

    answer: Callable[[TaskGraph, Cluster], Advice]
    earlier: Sequence[RunRecord] = ()
    asked: list[TaskGraph] = field(default_factory=list)
    runs: list[RunRecord] = field(default_factory=list)
    read: int = 0

    def advise(
        self, graph: TaskGraph, cluster: Cluster, flow: str, objective: str | None = None
    ) -> Advice:
        self.asked.append(graph)
        return self.answer(graph, cluster)

    def history(self, flow: str, origin: str = "") -> Iterator[RunRecord]:
        for run in [*reversed(self.runs), *self.earlier]:
            self.read += 1
            yield run

    def record(self, run: RunRecord) -> None:
        self.runs.append(run)

    def close(self) -> None:
        return None


def in_turns(graph: TaskGraph, cluster: Cluster, seconds: float = 1.0) -> Advice:
    """A plan in which the workers take turns, one task after the other; always adopted."""
    order = [graph.names[place] for place in graph.topological.tolist()]
    workers = cluster.names
    rows = [
        Assignment(name, workers[i % len(workers)], i * seconds, (i + 1) * seconds)
        for i, name in enumerate(order)
    ]
    instance = Instance(graph, cluster, np.full((len(graph), len(cluster)), seconds))
    made = PlanRecord(
        Schedule(rows),
        len(rows) * seconds,
        seconds,
        "longest task",
        "turns",
        "miss",
        adopted=True,
        reason="planned for a test",
    )
    return Advice(made, made.reason, "g", "c", instance=instance)
