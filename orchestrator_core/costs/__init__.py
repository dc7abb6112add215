"""Stage 2, costs: how long, how many bytes. Prices a graph on a cluster; plans nothing."""

from orchestrator_core.costs.instance import Instance
from orchestrator_core.costs.model import CostModel, FirstKnown, GraphCosts, TableCosts

__all__ = ["CostModel", "FirstKnown", "GraphCosts", "Instance", "TableCosts"]
