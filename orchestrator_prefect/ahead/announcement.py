"""Announcement: the scheduler is told what comes next, and where it belongs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator_core.execute.advice import Advice
from orchestrator_core.plan.schedule import Schedule
from orchestrator_prefect.ahead.outlook import Step
from orchestrator_prefect.sending.epoch import Batch
from orchestrator_prefect.sending.flow_graph import holds, slots
from orchestrator_prefect.sending.link import Link

if TYPE_CHECKING:
    from orchestrator_core.execute.live import LivePlan


def announce(link: Link, run_id: str, batch: Batch, step: Step) -> tuple[float, Schedule | None]:
    """Announce an epoch, and where a plan is followed, also what is foreseen.

    Returns the start of the run, in seconds since 1970 on the scheduler's clock, and the plan.
    """
    advice, gone = step.advice, step.gone
    if advice is None or advice.plan is None or not advice.adopted:
        return link.begin(run_id, batch, {}, {}, None, gone), None
    announce_aside(link, run_id, batch, step)
    planned = [each for each in batch if each.name not in step.aside]
    coming, schedule = [*planned, *step.foreseen], advice.plan.schedule
    chosen = slots(schedule, coming)
    held = holds(advice.holds, coming) if chosen else {}
    live = _live(advice) if chosen else None
    return link.begin(run_id, coming, chosen, held, live, gone), schedule


def announce_aside(link: Link, run_id: str, batch: Batch, step: Step) -> None:
    """Announce what of an epoch is left to Dask: it is watched, as an epoch of its own."""
    aside = [each for each in batch if each.name in step.aside]
    if aside:
        link.begin(run_id, aside, {}, {}, None)


def _live(advice: Advice) -> LivePlan | None:
    # Repair comes with compiled code, which whoever has a plan has loaded already.
    from orchestrator_core.execute.live import LivePlan

    return LivePlan.of(advice)
