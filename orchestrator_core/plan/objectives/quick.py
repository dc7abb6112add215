"""quick: what the heuristics of an objective find in some tenths of a second, interpreted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives.finished import finished
from orchestrator_core.plan.objectives.judge import Judge
from orchestrator_core.plan.objectives.planners import OBJECTIVE_PLANNERS
from orchestrator_core.plan.objectives.search import ObjectiveSearch
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.shaken import shaken

NAME = "quick-lists"

DECODED, FEWEST, MOST = 6_000, 10, 150
"""Tasks that are decoded for each heuristic, and in a search; schedules of it at least, and that a
search tries at most."""


def quick_plan(instance: Instance, objective: Objective) -> Schedule | None:
    """The best schedule found; the same arguments have the same one. None if none keeps the rules.

    Raises:
        UnsupportedInstance: as `expand` does.
    """
    judge = Judge(instance, objective)
    best = min(_schedules(judge), key=judge.value, default=None)
    return None if best is None else _bettered(judge, finished(judge, best))


def _schedules(judge: Judge) -> Iterator[Schedule]:
    """The best of those for the makespan, and all of those for a criterion."""
    instance = judge.instance
    found = shaken(instance, judge.value)
    if found is not None:
        yield found
    most = max(FEWEST, DECODED // max(1, instance.graph.n_instances))
    for planner in OBJECTIVE_PLANNERS:
        if planner.unsupported(instance, judge.objective) is None:
            yield from islice(planner.schedules(instance), most)


def _bettered(judge: Judge, best: Schedule) -> Schedule:
    """By some steps of a search, where there is one that needs no compiled code."""
    search, n = ObjectiveSearch(), max(1, judge.instance.graph.n_instances)
    if search.unsupported(judge.instance, judge.objective) is not None:
        return best
    steps = max(FEWEST, min(MOST, DECODED // n))
    brief = Brief(judge.instance, Budget(iterations=steps), judge.objective, best)
    for proposal in search.plan(brief):
        best = proposal.schedule or best
    return best
