"""Runs that are left to Dask: what is left of them can be told all the same, for those who ask how
large a cluster should be."""

from __future__ import annotations

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask.graphs.runs import GraphRun
from orchestrator_core.execute.dask.graphs.stored import unbound
from orchestrator_core.execute.live import Course
from orchestrator_core.plan.warm import FIRST, is_missing

SECONDS = 0.5
"""Most that a list schedule may take where nobody has made a plan."""


def course_of(run: GraphRun, advice: Advice) -> Course | None:
    """The course that the run would take by the plan that was declined, or by a list schedule where
    none was made; None if its costs are not known. Takes its time.

    Raises:
        OrchestratorError: if it cannot be planned.
    """
    from orchestrator_core.plan.budget import Budget
    from orchestrator_core.plan.portfolio import plan

    instance = advice.instance
    if instance is None or not run.snapshot.is_of(instance.graph):
        return None
    if advice.plan is not None:
        schedule = advice.plan.schedule
    elif is_missing(FIRST):
        return None
    else:
        schedule = plan(instance, Budget(seconds=SECONDS, iterations=0), (FIRST,)).schedule
    return Course(
        unbound(instance, run.snapshot.there.values()),
        schedule,
        [run.label(key)[0] for key in run.wanted],
        changeover=advice.changeover,
        crowding=advice.crowding,
    )
