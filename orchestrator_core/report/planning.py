"""Plans that answer questions about a run: by counted steps, so that answers stay the same."""

from __future__ import annotations

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.result import PlanResult
from orchestrator_core.plan.schedule import Schedule

SMALL = 24
"""Task instances up to which everything is asked, solvers too: such plans are mostly proven."""

FEW, MANY = Budget(seconds=60.0, iterations=100), Budget(seconds=60.0, iterations=1000)
"""Of each plan of a small and of a larger instance: who is at the terminal waits for three or four
plans. With solvers a step is longer; the seconds only guard against a hang."""

QUICK = ("heft", "balance", "peft", "serial", "edf", "local-search", "local-search-general")
"""Who is asked about larger ones: no solver, and of the list planners those that win most often."""


def steps_of(instance: Instance) -> tuple[Budget, tuple[str, ...] | None]:
    """(budget, planners; None for all) with which every question about the instance is planned."""
    return (FEW, None) if instance.graph.n_instances <= SMALL else (MANY, QUICK)


def solve(instance: Instance, hint: Schedule | None = None) -> PlanResult:
    """The best plan of the instance by the steps of `steps_of`.

    Raises:
        OrchestratorError: if no plan is possible.
    """
    from orchestrator_core.plan.portfolio import plan

    budget, planners = steps_of(instance)
    return plan(instance, budget, planners, hint=hint)


def kept(instance: Instance, schedule: Schedule | None) -> Schedule | None:
    """The schedule at the prices of the instance; None if it is none of it."""
    from orchestrator_core.plan.engine.retime import retime

    if schedule is None:
        return None
    try:
        return retime(instance, schedule)
    except UnsupportedInstance:
        return None
