"""Lower bounds: what no schedule can be better than."""

from orchestrator_core.plan.bounds.tiers import Bound, lower_bound

__all__ = ["Bound", "lower_bound"]
