"""Lead: what passes from a run's first submission to the start of its first task.

A plan counts from the moment at which its tasks go out. Before that they are submitted one by one,
planned and announced; whoever waits for the run waits for that too.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from orchestrator_core.execute.record import RunRecord

RUNS = 3
"""Latest runs that are looked at."""

PLANNING = 0.2
"""Seconds that it takes to find a stored plan, to judge and to announce it, until a run has told.
The search for one is no part of it: who makes a forecast stores what was found."""


def usual_lead(runs: Sequence[RunRecord], tasks: int) -> float:
    """Seconds until the first task of a planned run of so many tasks starts; 0 without runs.

    Submitting takes longer the more is submitted; planning is told by runs that found their plan.
    """
    began = [run for run in runs if run.tasks]
    # Beside others it waits for them, too.
    started = [run for run in began if not run.sharing] or began
    if not started:
        return 0.0
    submitting = [(_first(run) - _planning(run)) / len(run.graph) for run in started]
    found = [run for run in started if run.plan is not None and run.plan.cache == "hit"]
    planning = [_planning(run) for run in found]
    return tasks * median(submitting) + (median(planning) if planning else PLANNING)


def _first(run: RunRecord) -> float:
    return min(task.start for task in run.tasks)


def _planning(run: RunRecord) -> float:
    """Seconds of planning before the first task."""
    return 0.0 if run.plan is None else min(_first(run), run.plan.planning_seconds)
