"""How specs pass through operations: a file for each family, a rule for each primitive."""

from orchestrator_core.conductor.facts.transfer import (
    cumulative,
    draws,
    elementwise,
    indexing,
    products,
    ranks,
    reductions,
    views,
)
from orchestrator_core.conductor.facts.transfer.rule import Onward, Rule, rule_of

__all__ = [
    "Onward",
    "Rule",
    "cumulative",
    "draws",
    "elementwise",
    "indexing",
    "products",
    "ranks",
    "reductions",
    "rule_of",
    "views",
]
