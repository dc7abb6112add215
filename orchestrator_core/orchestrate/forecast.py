"""Forecast: a graph priced and planned, before anybody decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.devices import with_devices
from orchestrator_core.costs.instance import Instance
from orchestrator_core.costs.memory import with_memory
from orchestrator_core.costs.model import CostModel, FirstKnown, GraphCosts
from orchestrator_core.costs.sizes import with_sizes
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.learn.history_costs import HistoryCosts
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.result import PlanResult


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a graph will take, and why.

    Attributes:
        instance: the graph priced with what is known; pessimistic: with the 0.9 quantiles.
        result: the schedule and its proof.
        expected: seconds that the schedule will take, over the usual deviations of its tasks; a
            little more than its makespan, which no deviation is part of.
        lead: seconds from the run's first submission until the schedule begins, as earlier runs of
            the flow had them; 0 where none is known.
        cache: ``hit`` if the schedule was stored, ``miss`` if it was made now.
        objective: what the schedule minimises.
    """

    instance: Instance
    pessimistic: Instance
    result: PlanResult
    expected: float
    cache: str
    objective: Objective = MAKESPAN
    lead: float = 0.0

    @property
    def total(self) -> float:
        """Seconds from the run's first submission to the end of its last task."""
        return self.lead + self.expected


STATED = GraphCosts()


def price(
    graph: TaskGraph,
    cluster: Cluster,
    learned: HistoryCosts,
    quantile: float = 0.5,
    stated: CostModel = STATED,
) -> Instance:
    """`graph` priced with what was learned, and where nothing was, with what is `stated`."""
    costs = FirstKnown((learned, stated))
    sized = with_memory(with_sizes(graph, costs), cluster, learned.memory_bytes(graph))
    sized, cluster = with_devices(sized, cluster, learned.device_bytes(graph))
    return Instance.price(sized, cluster, costs, quantile)


def is_known(graph: TaskGraph, cluster: Cluster, learned: CostModel) -> bool:
    """Was each task's time learned, or is it stated by the graph?"""
    if not np.isnan(graph.mode_seconds).any():
        return True
    costs = FirstKnown((learned, GraphCosts()))
    return not np.isnan(costs.compute_seconds(graph, cluster)).any()
