"""An advisor that knows what the workload takes: plans by HEFT, prices, and holds if asked."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.costs.sizes import with_sizes
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import Floats, TaskGraph
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.warm import warm_up
from tests.chaos.workload import Job
from tests.promises import promised

PATIENCE = 0.5
LARGEST = 5_000
UNKNOWN_SECONDS = 0.02


@dataclass(frozen=True)
class Stated:
    """A cost model: what the jobs state; other tasks are short and small."""

    jobs: Mapping[str, Job]

    def compute_seconds(self, graph: TaskGraph, cluster: Cluster, quantile: float = 0.5) -> Floats:
        seconds = [self.jobs[n].seconds if n in self.jobs else UNKNOWN_SECONDS for n in graph.names]
        speeds = np.array([worker.speed for worker in cluster.workers])
        return np.array(seconds)[:, None] / speeds[None, :]

    def output_bytes(self, graph: TaskGraph) -> Floats:
        return np.array(
            [float(self.jobs[n].nbytes) if n in self.jobs else 100.0 for n in graph.names]
        )


class Planner:
    """Plans what it is asked about; keeps plans and runs."""

    def __init__(self, holding: bool = False) -> None:
        self.holding = holding
        self.jobs: dict[str, Job] = {}
        self.plans: list[Schedule] = []
        self.runs: list[RunRecord] = []
        self.go_on = threading.Event()

    def warm_up(self) -> None:
        """Load compiled code before the clock runs."""
        warm_up()

    def advise(
        self, graph: TaskGraph, cluster: Cluster, flow: str, objective: str | None = None
    ) -> Advice:
        if graph.n_instances > LARGEST:
            return Advice(None, "left to Dask: too large")
        instance = self.price(graph, cluster)
        return self.advice(instance, self.schedule(instance))

    def price(self, graph: TaskGraph, cluster: Cluster) -> Instance:
        stated = Stated(self.jobs)
        return Instance.price(with_sizes(graph, stated), cluster, stated)

    def schedule(self, instance: Instance) -> Schedule:
        return plan(instance, Budget(seconds=5.0, iterations=0), ("heft",)).schedule

    def advice(self, instance: Instance, schedule: Schedule, **changes: Any) -> Advice:
        self.plans.append(schedule)
        record = promised(schedule, planner="heft", reason="because chaos says so")
        given: dict[str, Any] = {
            "graph_signature": "graph",
            "cluster_signature": "cluster",
            "instance": instance,
            "holds": holds_of(schedule) if self.holding else {},
            "prefetch": True,
            **changes,
        }
        return Advice(record, record.reason, **given)

    def record(self, run: RunRecord) -> None:
        self.runs.append(run)

    def close(self) -> None:
        return None


def holds_of(schedule: Schedule) -> dict[str, Hold]:
    """Each third task of a worker waits for the one before it, each seventh for one elsewhere."""
    rows = sorted(schedule.assignments, key=lambda row: (row.start, row.end))
    last: dict[str, str] = {}
    holds: dict[str, Hold] = {}
    for i, row in enumerate(rows):
        before = last.get(row.worker)
        ended = [r.task for r in rows[:i] if r.worker != row.worker and r.end <= row.start]
        if i % 7 == 0 and ended:
            holds[row.task] = Hold(done=frozenset(ended[-1:]), patience=PATIENCE)
        elif i % 3 == 0 and before is not None:
            holds[row.task] = Hold(sent=frozenset((before,)), patience=PATIENCE)
        last[row.worker] = row.task
    return holds
