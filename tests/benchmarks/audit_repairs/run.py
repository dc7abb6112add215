"""A plan is made, things happen, it is repaired, and again."""

from __future__ import annotations

import random

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule, PlanningFailed
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.repair import Event, Repairer, Replan, WorkerLost, check_replan
from orchestrator_core.plan.schedule import Schedule
from tests.benchmarks.audit.case import Case
from tests.benchmarks.audit_repairs.changed import changed
from tests.benchmarks.audit_repairs.happened import happened
from tests.benchmarks.audit_repairs.left_out import wrongly_left_out
from tests.benchmarks.audit_repairs.past import wrong_of_past
from tests.benchmarks.audit_repairs.rest import compare
from tests.benchmarks.audit_repairs.verdict import RepairAudit, RepairVerdict

ROUNDS = 2


def verdict_of(case: Case) -> RepairVerdict:
    """Of a plan that list heuristics find at once; without repairs if they find none."""
    rng, verdict = random.Random(f"repair {case.seed}"), RepairVerdict(case.seed, case.source)
    try:
        schedule = plan(case.instance, Budget(iterations=1)).schedule
    except PlanningFailed:
        return verdict
    forgets = rng.random() < 0.3
    repairer, now = Repairer(case.instance, schedule, forgets=forgets), 0.0
    for _ in range(ROUNDS):
        now = _later(rng, now, repairer.schedule, case.tick)
        verdict.repairs.append(_repaired(rng, case, repairer, now))
    return verdict


def _later(rng: random.Random, now: float, schedule: Schedule, tick: float) -> float:
    """A whole tick, from now to the end."""
    first, last = round(now / tick), round(schedule.makespan / tick)
    return rng.randint(first, max(first, last)) * tick


def _repaired(rng: random.Random, case: Case, repairer: Repairer, now: float) -> RepairAudit:
    before, old = repairer.schedule, repairer.instance
    instance, kinds = changed(rng, old, before, now, case.tick, repairer._lost)
    if instance is not old:
        repairer.reprice(instance)
    there = set(instance.cluster.names) - repairer._lost
    events = happened(rng, before, now, case.tick, there)
    budget = Budget(iterations=20) if rng.random() < 0.5 else None
    kinds += [type(event).__name__ for event in events]
    audit = RepairAudit(kinds, budget is not None)
    result = repairer.replan(now, events, budget=budget)
    _check(result, audit)
    lost = _lost(repairer, instance, before, events)
    audit.violations += wrong_of_past(
        instance.graph, before, result, events, lost=lost, forgets=repairer.forgets
    )
    audit.violations += wrongly_left_out(instance, result, lost)
    compare(result, case.tick, audit)
    return audit


def _lost(
    repairer: Repairer, instance: Instance, before: Schedule, events: list[Event]
) -> set[str]:
    lost = {event.name for event in events if isinstance(event, WorkerLost)} | repairer._lost
    return lost | (set(before.worker_names) - set(instance.cluster.names))


def _check(result: Replan, audit: RepairAudit) -> None:
    audit.blocked, audit.missed = len(result.blocked), len(result.missed)
    try:
        check_replan(result)
    except InvalidSchedule as breach:
        audit.violations.append(f"{breach.rule}: {breach}")
