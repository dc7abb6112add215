"""Forecast: a graph priced and planned, before anybody decides."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.costs.instance import Instance
from orchestrator_core.costs.model import CostModel, FirstKnown, GraphCosts
from orchestrator_core.costs.sizes import with_sizes
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.result import PlanResult


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a graph will take, and why.

    Attributes:
        instance: the graph priced with what is known; pessimistic: with the 0.9 quantiles.
        result: the schedule and its proof.
        expected: seconds that the schedule will take, over the usual deviations of its tasks; a
            little more than its makespan, which no deviation is part of.
        cache: ``hit`` if the schedule was stored, ``miss`` if it was made now.
    """

    instance: Instance
    pessimistic: Instance
    result: PlanResult
    expected: float
    cache: str


def price(
    graph: TaskGraph, cluster: Cluster, learned: CostModel, quantile: float = 0.5
) -> Instance:
    """`graph` priced with what was learned, and where nothing was, with what it states itself."""
    costs = FirstKnown((learned, GraphCosts()))
    return Instance.price(with_sizes(graph, costs), cluster, costs, quantile)
