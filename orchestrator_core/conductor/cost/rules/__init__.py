"""What nodes do, by primitive. A rule for another primitive: ``@rule("its_name")``."""

from orchestrator_core.conductor.cost.rules import (
    contractions,
    draws,
    elementwise,
    kernels,
    linalg,
    reductions,
    views,
)
from orchestrator_core.conductor.cost.rules.registry import RULES, Rule, default, rule, work_by_rule

__all__ = [
    "RULES",
    "Rule",
    "contractions",
    "default",
    "draws",
    "elementwise",
    "kernels",
    "linalg",
    "reductions",
    "rule",
    "views",
    "work_by_rule",
]
