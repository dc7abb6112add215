"""The schedule of a first answer: the stored one, or what heuristics find while interpreted."""

from __future__ import annotations

from orchestrator_core.costs.instance import Instance
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.orchestrate.schedules import Start, begun_from, keep, recall, recall_near
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.objectives.judge import Judge
from orchestrator_core.plan.objectives.quick import NAME as QUICK
from orchestrator_core.plan.objectives.quick import quick_plan
from orchestrator_core.plan.result import PlanResult
from orchestrator_core.plan.search.shaken import NAME as SHAKEN
from orchestrator_core.plan.search.shaken import shaken

PLANNER, BUDGET = "heft", Budget(seconds=0.01)
"""Who is asked, and for how long it may be proven how good that is."""


def first_schedule(
    instance: Instance, memory: Memory, flow: str, objective: Objective = MAKESPAN
) -> tuple[PlanResult, str]:
    """The best that is at hand, and where it is from, as `Forecaster.schedule` says it.

    Raises:
        OrchestratorError: if none is found.
    """
    keys = Keys.of(instance.graph, instance.cluster)
    stored = recall(memory, instance, keys, objective, BUDGET.seconds)
    if stored is not None:
        return stored, "hit"
    near = recall_near(memory, instance, keys, objective)
    result = _planned(instance, near, objective)
    keep(memory, instance, result, keys, flow)
    return result, "miss" if near is None else "near"


def _planned(instance: Instance, near: Start | None, objective: Objective) -> PlanResult:
    """The best of HEFT's, of a short search, and of what was stored for other costs."""
    starts = [each for each in (near, _found(instance, objective)) if each is not None]
    judge = Judge(instance, objective)
    best = min(starts, key=lambda each: judge.value(each.schedule), default=None)
    return begun_from(best, instance, BUDGET, (PLANNER,), objective)[0]


def _found(instance: Instance, objective: Objective) -> Start | None:
    by_time = objective == MAKESPAN
    schedule = shaken(instance) if by_time else quick_plan(instance, objective)
    name = SHAKEN if by_time else QUICK
    return None if schedule is None else Start(schedule, name, is_near=False)
