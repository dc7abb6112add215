"""Share: how long planning may take."""

from __future__ import annotations

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget

PLANNING_SHARE, LONGEST = 0.02, 5.0
"""Planning may take this part of the time that the graph is expected to take; seconds at most."""


def share_of(instance: Instance) -> Budget:
    """A small part of the run, which takes as long as a bound says that is found at once, and a few
    seconds at most."""
    from orchestrator_core.plan.first_bound import quick_bound

    return Budget(seconds=min(LONGEST, PLANNING_SHARE * quick_bound(instance).seconds))
