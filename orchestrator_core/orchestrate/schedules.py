"""Stored schedules: found again for a priced graph, or made and kept.

The compiled planners are loaded by what needs them: a schedule that is stored for the very prices
that are asked for needs none.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import OrchestratorError
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.canonical import from_canonical, to_canonical
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.result import PlanResult
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.store.base import StoredSchedule

if TYPE_CHECKING:
    from orchestrator_core.plan.planner import Planner

log = logging.getLogger("orchestrator")

HURRY = 1.0
"""With fewer seconds, most list planners are left aside where they work for another objective."""


@dataclass(frozen=True, slots=True)
class Start:
    """What planning begins with.

    Attributes:
        planner: who made the schedule.
        is_near: was it stored for other costs? Then it is no answer, however good it is.
    """

    schedule: Schedule
    planner: str
    is_near: bool


def make(
    instance: Instance,
    budget: Budget,
    planners: Sequence[str] | None,
    start: Start | None,
    objective: Objective = MAKESPAN,
) -> tuple[PlanResult, str]:
    """A new plan, begun from a stored one if there is one.

    Returns beside it ``hit`` if the stored one was not bettered, ``near`` if it was stored for
    other costs, else ``miss``.
    """
    result, is_kept = begun_from(start, instance, budget, planners, objective)
    if start is None:
        return result, "miss"
    return result, "near" if start.is_near else "hit" if is_kept else "miss"


def begun_from(
    start: Start | None,
    instance: Instance,
    budget: Budget,
    planners: Sequence[str] | None,
    objective: Objective = MAKESPAN,
) -> tuple[PlanResult, bool]:
    """A new plan, and whether it is the one that it was begun from, by whoever made that."""
    from orchestrator_core.plan.portfolio import plan
    from orchestrator_core.plan.result import HINT

    hint = None if start is None else start.schedule
    among = None if planners else _in_a_hurry(objective, budget)
    result = plan(instance, budget, planners, hint=hint, objective=objective, _registry=among)
    if start is None or result.planner != HINT:
        return result, False
    return replace(result, planner=start.planner), True


def _in_a_hurry(objective: Objective, budget: Budget) -> Sequence[Planner] | None:
    """Those who know the objective, and one who is always able; None for all, where there is time.

    They are not asked by name, for that would wait until they are compiled.
    """
    if objective == MAKESPAN or budget.iterations is not None or budget.seconds >= HURRY:
        return None
    from orchestrator_core.plan.objectives.planners import OBJECTIVE_PLANNERS
    from orchestrator_core.plan.portfolio import registered

    lists = (planner.name for planner in OBJECTIVE_PLANNERS)
    names = {"heft", "edf", *lists, "time-search", "objective-search"}
    return [planner for planner in registered() if planner.name in names]


def recall(
    memory: Memory,
    instance: Instance,
    keys: Keys,
    objective: Objective = MAKESPAN,
    seconds: float | None = None,
) -> PlanResult | None:
    """The stored schedule for `instance`, if there is one that still holds; see `keep`.

    Under the very prices that it was made for it is taken as it is, with its bound; under others
    its places and order are kept, and times and bound are made anew; the bound in a part of these
    `seconds`, if they are given.
    """
    begun = time.perf_counter()
    stored = memory.find(keys.priced(instance, objective))
    return None if stored is None else _result(stored, instance, keys, objective, seconds, begun)


def recall_near(
    memory: Memory, instance: Instance, keys: Keys, objective: Objective = MAKESPAN
) -> Start | None:
    """A schedule of this graph on workers like these that was stored for other costs, with the
    times of `instance`: to begin from, never to follow as it is."""
    stored = memory.find_near(keys.priced(instance, objective))
    schedule = None if stored is None else _fitted(stored, instance, keys, same=False)
    return None if stored is None or schedule is None else Start(schedule, stored.planner, True)


def _result(
    stored: StoredSchedule,
    instance: Instance,
    keys: Keys,
    objective: Objective,
    seconds: float | None,
    begun: float,
) -> PlanResult | None:
    same = stored.prices == keys.prices(instance)
    schedule = _fitted(stored, instance, keys, same)
    if schedule is None:
        return None
    proven, method = stored.lower_bound, stored.bound_method
    if not same:
        from orchestrator_core.plan.first_bound import first_bound

        bound = first_bound(instance, objective, seconds)
        proven, method = bound.seconds, bound.method
    return PlanResult(
        schedule=schedule,
        lower_bound=proven,
        bound_method=method,
        planner=stored.planner,
        reason=f"stored: {stored.planner} made it for an earlier run of this graph",
        seconds=time.perf_counter() - begun,
        objective=str(objective),
        values=evaluate(instance, schedule, objective),
    )


def _fitted(stored: StoredSchedule, instance: Instance, keys: Keys, same: bool) -> Schedule | None:
    """The stored schedule with the names and times of `instance`; None if it breaks a rule."""
    try:
        schedule = from_canonical(
            stored.schedule, instance.graph, instance.cluster, keys.graph, keys.cluster
        )
        if not same:
            from orchestrator_core.plan.engine.retime import retime

            schedule = retime(instance, schedule)
        check_schedule(instance, schedule)
    except OrchestratorError as error:
        log.info("a stored schedule no longer fits and is not used: %s", error)
        return None
    return schedule


def keep(
    memory: Memory,
    instance: Instance,
    result: PlanResult,
    keys: Keys,
    flow: str,
) -> None:
    """Store a schedule, in the background.

    Of two under one key the better one stays: the value of the first criterion stands for the
    makespan where another objective is asked for.
    """
    now = time.time()
    memory.keep(
        StoredSchedule(
            key=keys.priced(instance, Objective.of(result.objective)),
            prices=keys.prices(instance),
            schedule=to_canonical(
                result.schedule, instance.graph, instance.cluster, keys.graph, keys.cluster
            ),
            makespan=result.value,
            lower_bound=result.lower_bound,
            bound_method=result.bound_method,
            planner=result.planner,
            created_at=now,
            used_at=now,
            flow=flow,
        )
    )
