"""A search moves what pays, and leaves the rest where it was planned."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.repair import WorkerLost, check_replan, replan
from orchestrator_core.plan.repair.placing import place_rest
from orchestrator_core.plan.repair.plain import Plain
from orchestrator_core.plan.repair.restoring import restore_places
from orchestrator_core.plan.schedule import Schedule
from tests.benchmarks.plan.instances import layered


def planned(seed: int) -> tuple[Instance, Schedule]:
    instance = layered(300, 6, 1.0, seed)
    schedule = next(LIST_PLANNERS[0].plan(Brief(instance))).schedule
    assert schedule is not None
    return instance, schedule


@pytest.mark.parametrize("seed", range(3))
def test_a_search_betters_a_repair_and_moves_less_than_planning_anew(seed: int) -> None:
    instance, plan = planned(seed)
    now, events = 0.3 * plan.makespan, [WorkerLost("w5")]
    at_once = replan(instance, plan, now, events)
    result = replan(instance, plan, now, events, budget=Budget(iterations=3_000))
    check_replan(result)
    assert result.makespan <= at_once.makespan
    elsewhere = [move for move in result.moved if move.source != "w5"]
    placer = Plain(result._basis, result._remains)
    anew = placer.place(placer.order, np.full_like(result._remains.prefer, -1))
    assert len(elsewhere) < placer._moves(anew)


def test_single_tasks_go_back_within_the_limit() -> None:
    instance, plan = planned(1)
    result = replan(instance, plan, 0.3 * plan.makespan, [WorkerLost("w5")])
    placer, rest = Plain(result._basis, result._remains), result._remains.rest
    problem, planned_on = result._basis.problem, result._remains.prefer
    anew = placer.place(placer.order, np.full_like(planned_on, -1))
    prefer = anew.placed.worker.copy()
    limit = 1.002 * anew.value
    back = restore_places(problem, rest, 10**9, limit, planned_on, placer.order, prefer)
    assert back > 0
    again = placer.place(placer.order, prefer)
    assert again.value <= limit
    assert placer._moves(again) == placer._moves(anew) - back
    # Without work nothing is tried, and what is planned already has nowhere to go back to.
    assert restore_places(problem, rest, 0, limit, planned_on, placer.order, prefer) == 0
    kept = np.where(planned_on >= 0, planned_on, prefer)
    assert restore_places(problem, rest, 10**9, np.inf, kept, placer.order, kept.copy()) == 0
    makespan, _, _ = place_rest(problem, rest, placer.order, prefer, np.inf)
    assert makespan == again.makespan
