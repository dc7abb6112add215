"""Asking one planner, outside of the portfolio."""

from __future__ import annotations

from orchestrator_core.plan.planner import Brief, Planner, Proposal


def ask(planner: Planner, brief: Brief) -> Proposal:
    """All its proposals as one: the last schedule, the best bound, the last note."""
    schedule, lower_bound, note = None, 0.0, ""
    for proposal in planner.plan(brief):
        schedule = proposal.schedule or schedule
        lower_bound = max(lower_bound, proposal.lower_bound)
        note = proposal.note or note
    return Proposal(schedule, lower_bound, note)
