"""Company: beside planned runs a plan need save nothing, for whoever follows one has a turn.

A graph that is left to Dask shares with all others, and ends with the last of them: two alike take
twice as long as one.
"""

from __future__ import annotations

from dataclasses import replace

from orchestrator_core.execute.advice import Advice

LONGER = 0.2
"""Part of Dask's seconds by which a plan may be longer: that is little beside a turn."""


def beside_others(advice: Advice) -> Advice:
    """The advice where planned runs are under way: a plan that would save too little is followed,
    unless it is much longer than what Dask does."""
    plan = advice.plan
    if plan is None or plan.adopted or plan.default_predicted is None or not advice.is_by_time:
        return advice
    if plan.predicted > (1.0 + LONGER) * plan.default_predicted:
        return advice
    reason = (
        f"planned, to take turns with runs under way: it takes {plan.predicted:.3g} s against "
        f"{plan.default_predicted:.3g} s by Dask's own order"
    )
    return replace(advice, plan=replace(plan, adopted=True, reason=reason), reason=reason)
