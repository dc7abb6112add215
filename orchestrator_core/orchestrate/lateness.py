"""Lateness: what becomes of a question whose deadlines no plan meets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator_core import words
from orchestrator_core.errors import InfeasibleInstance, OrchestratorError
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.question import Question
from orchestrator_core.plan.dates import lateness_first, softened
from orchestrator_core.plan.result import PlanResult


def least_late(question: Question) -> Question:
    """The question with due dates for deadlines: they may be missed, by as little as can be."""
    objective = lateness_first(question.objective)
    return replace(question, graph=softened(question.graph), objective=objective)


def why_late(graph: TaskGraph, error: OrchestratorError, forecast: Forecast) -> str:
    """What people are told first of the plan that is made instead.

    Args:
        graph: with its deadlines. error: why no plan meets them. forecast: for least lateness.
    """
    from orchestrator_core.plan.first_bound import quick_bound

    bound = quick_bound(forecast.instance).seconds
    dated = np.isfinite(graph.deadline)
    left = float(graph.deadline[dated].max())
    if left <= 0:
        cause = "the deadline has passed"
    elif dated.all() and bound > left:
        no_less = f"no plan takes less than {words.seconds(bound)}"
        cause = f"deadlines cannot be met ({no_less}, and {words.seconds(left)} are left)"
    elif isinstance(error, InfeasibleInstance):
        cause = f"deadlines cannot be met ({error})"
    else:
        task, late = _latest(graph, forecast.result)
        cause = f"no plan was found that meets all deadlines ({task!r} ends {late} after its own)"
    return f"{cause}, so this is for least lateness; "


def _latest(graph: TaskGraph, result: PlanResult) -> tuple[str, str]:
    """The task that is latest, and by how much."""
    due = dict(zip(graph.names, graph.deadline.tolist(), strict=True))
    found = max(result.schedule.assignments, key=lambda each: each.end - due[each.task])
    return found.task, words.seconds(found.end - due[found.task])
