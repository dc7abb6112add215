"""What `feasibility` says of deadlines, against the oracle."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.realtime import Feasible, Infeasible, feasibility
from orchestrator_core.plan.realtime.deadlines import with_deadlines
from tests.benchmarks.audit.case import Case
from tests.benchmarks.audit.oracle import answer_of, within_reach

BUDGET = Budget(seconds=0.2)


def wrong_of_deadlines(case: Case, possible: bool) -> list[str]:
    """What is wrong with the verdict on an instance that has a schedule, or has none."""
    if not np.isfinite(case.instance.graph.deadline).any():
        return []
    verdict = feasibility(case.instance, BUDGET)
    if isinstance(verdict, Feasible):
        return _wrong_schedule(case.instance, verdict)
    if isinstance(verdict, Infeasible):
        if possible:
            return [f"deadlines are called infeasible: {verdict.reason}"]
        return _wrong_conflict(case, verdict)
    return []


def _wrong_schedule(instance: Instance, verdict: Feasible) -> list[str]:
    try:
        check_schedule(instance, verdict.schedule)
    except InvalidSchedule as breach:
        return [f"deadlines are called feasible: {breach}"]
    return []


def _wrong_conflict(case: Case, verdict: Infeasible) -> list[str]:
    """The deadlines in conflict cannot be kept; if it is a smallest conflict, all but one can."""
    graph, found = case.instance.graph, []
    conflict = [graph.index[name] for name in verdict.conflict]
    if _is_possible(case, conflict) is True:
        found.append(f"{verdict.conflict} are no conflict")
    for one in conflict if verdict.smallest else ():
        if _is_possible(case, [task for task in conflict if task != one]) is False:
            found.append(f"{verdict.conflict} is no smallest conflict: not {graph.names[one]!r}")
    return found


def _is_possible(case: Case, deadlines: list[int]) -> bool | None:
    """None where nobody knows."""
    instance = with_deadlines(case.whole, deadlines)
    if not within_reach(instance, case.tick):
        return None
    values = answer_of(instance, "makespan", case.tick).values
    return None if values is None else bool(values)
