"""The advisor of a flow run: an `Orchestrator` with the run's settings."""

from __future__ import annotations

from orchestrator_core.costs.stated import StatedCosts
from orchestrator_core.execute.advice import Advisor
from orchestrator_prefect.settings.flow_settings import FlowSettings


def flow_advisor(settings: FlowSettings) -> Advisor:
    """Opens the database; may take a second, and load much."""
    from orchestrator_core.orchestrate import Orchestrator
    from orchestrator_core.plan.budget import Budget

    return Orchestrator(
        settings.store,
        budget=None if settings.budget is None else Budget(seconds=settings.budget),
        min_gain=settings.min_gain,
        brisk=True,
        max_price=settings.max_price,
        stated=_stated(settings),
    )


def _stated(settings: FlowSettings) -> StatedCosts:
    """How far tasks are from their estimates, by name."""
    return StatedCosts(
        {
            name: each.spread / each.hint.seconds
            for name, each in settings.estimates.items()
            if each.spread and each.hint.seconds
        }
    )
