"""Prices of a recorded run: what its tasks take on each worker, as its plan believed.

Learned durations say how workers compare. What a task takes where it was planned is what the plan
said; where nothing was planned, what it took. So a plan of the run's own makes sense at these
prices, and whatever is planned anew compares with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.costs.memory import with_memory
from orchestrator_core.costs.model import CostModel, FirstKnown, GraphCosts
from orchestrator_core.costs.sizes import with_sizes
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.anywhere import anywhere
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import Floats, TaskGraph
from orchestrator_core.learn.history_costs import HistoryCosts
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True)
class RunPrices:
    """Prices a run's graph on its own cluster, or on another.

    Attributes:
        graph: the one that the run's plan speaks of, with the sizes of outputs that were learned.
        instance: the run's graph on its own cluster.
    """

    run: RunRecord
    learned: HistoryCosts
    graph: TaskGraph
    instance: Instance
    _factors: Floats

    @staticmethod
    def of(run: RunRecord, learned: HistoryCosts) -> RunPrices:
        """The prices of the run.

        Raises:
            InvalidInstance: if a task neither ran, was planned nor states a time; it is named.
        """
        graph = with_sizes(run.planned_graph, _costs(run, learned))
        bare = _bare(run, learned, graph, run.cluster)
        factors = _factors(run, bare)
        return RunPrices(run, learned, graph, _scaled(bare, factors), factors)

    def on(self, cluster: Cluster) -> Instance:
        """The run's graph on another cluster.

        Raises:
            InfeasibleInstance: if a task can run on none of its workers.
        """
        graph = anywhere(self.graph, self.lost_with(cluster))
        return _scaled(_bare(self.run, self.learned, graph, cluster), self._factors)

    def lost_with(self, cluster: Cluster) -> list[str]:
        """What was computed before the run and none of these workers has."""
        lost = []
        for name in sorted(self.run.stored):
            places = self.graph.task(name).eligible or ()
            if cluster.index.keys().isdisjoint(places):
                lost.append(name)
        return lost


def _bare(run: RunRecord, learned: HistoryCosts, graph: TaskGraph, cluster: Cluster) -> Instance:
    """The graph at learned prices, with the memory that was learned where that is scarce."""
    needing = with_memory(graph, cluster, learned.memory_bytes(graph))
    return Instance.price(needing, learned.distinguish(cluster), _costs(run, learned))


def _costs(run: RunRecord, learned: HistoryCosts) -> CostModel:
    return FirstKnown((learned, GraphCosts(), _OwnCosts(run)))


@dataclass(frozen=True)
class _OwnCosts:
    """What the run alone tells: seconds at the declared speed of the worker."""

    run: RunRecord

    def compute_seconds(self, graph: TaskGraph, cluster: Cluster, quantile: float = 0.5) -> Floats:
        speeds = {worker.name: worker.speed for worker in self.run.cluster.workers}
        work = np.full(len(graph), np.nan)
        for task, (worker, seconds, _) in _anchors(self.run).items():
            if task in graph.index:
                work[graph.index[task]] = seconds * speeds.get(worker, 1.0)
        speed = np.array([worker.speed for worker in cluster.workers])
        return np.asarray(work[graph.mode_task][:, None] / speed[None, :], dtype=np.float64)

    def output_bytes(self, graph: TaskGraph) -> Floats:
        return np.array(graph.output_bytes)


def _anchors(run: RunRecord) -> dict[str, tuple[str, float, int]]:
    """(worker, seconds, mode) of each task that was planned; else of each that ended well."""
    found = {
        record.task: (record.worker, record.seconds, 0)
        for record in run.tasks
        if record.status == "ok" and record.seconds > 0
    }
    return found if run.plan is None else found | _planned(run.plan.schedule)


def _planned(schedule: Schedule) -> dict[str, tuple[str, float, int]]:
    found = {}
    for a in schedule.assignments:
        seconds = sum(end - start for start, end in a.segments or ((a.start, a.end),))
        found[a.task] = (a.worker, seconds, a.mode)
    return found


def _factors(run: RunRecord, instance: Instance) -> Floats:
    """(n,) by what each task's learned seconds are to be multiplied."""
    graph, cluster = instance.graph, instance.cluster
    factors = np.ones(len(graph))
    for name, (worker, seconds, mode) in _anchors(run).items():
        task, place = graph.index.get(name), cluster.index.get(worker)
        if task is None or place is None:
            continue
        position = int(graph.mode_ptr[task]) + mode
        if position >= graph.mode_ptr[task + 1]:
            continue
        priced = float(instance.seconds[position, place])
        if 0 < priced < np.inf:
            factors[task] = seconds / priced
    return factors


def _scaled(instance: Instance, factors: Floats) -> Instance:
    graph = instance.graph
    return Instance(graph, instance.cluster, instance.seconds * factors[graph.mode_task][:, None])
