"""An instance is planned, and judged by its optimum."""

from __future__ import annotations

import math
from dataclasses import replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import (
    InfeasibleInstance,
    InvalidCertificate,
    InvalidSchedule,
    PlanningFailed,
    ProvenInfeasible,
    UnsupportedInstance,
)
from orchestrator_core.plan.bounds.check_certificate import verify
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.result import PlanResult, PlanStatus
from tests.benchmarks.audit.answer import Answer
from tests.benchmarks.audit.bounds import bounds_above
from tests.benchmarks.audit.case import Case
from tests.benchmarks.audit.constraints import constraints_of
from tests.benchmarks.audit.deadlines import wrong_of_deadlines
from tests.benchmarks.audit.each_planner import wrong_of_planners
from tests.benchmarks.audit.near import exceeds
from tests.benchmarks.audit.oracle import answer_of
from tests.benchmarks.audit.verdict import Verdict

AT_ONCE = Budget(seconds=0.0)


def verdict_of(case: Case, budget: Budget) -> Verdict:
    """Of one plan, of each planner by itself, and of what is said of its deadlines."""
    verdict = Verdict(case.seed, case.source, case.objective, constraints_of(case.whole))
    if case.drawn.refusal:
        verdict.violations.append(f"it has a schedule, but is refused: {case.drawn.refusal}")
    try:
        result = plan(case.instance, budget, objective=case.objective)
    except (InfeasibleInstance, PlanningFailed, UnsupportedInstance) as refusal:
        answer = _ask(case, math.inf)
        _check_refusal(answer, refusal, verdict)
    else:
        _check_plan(case.instance, result, verdict)
        answer = _ask(case, math.inf if verdict.violations else result.makespan)
        _compare(case.instance, result, answer, verdict)
    if answer.values is not None:
        verdict.violations += wrong_of_deadlines(case, bool(answer.values))
        verdict.violations += wrong_of_planners(case.instance, case.objective, answer)
    return verdict


def _ask(case: Case, makespan: float) -> Answer:
    """The oracle, whose schedule only counts for the instance that it was asked for."""
    answer = answer_of(case.whole, case.objective, case.tick, makespan)
    if case.instance is case.whole:
        return answer
    return replace(answer, schedule=None, spread=case.drawn.spread)


def _check_refusal(answer: Answer, refusal: Exception, verdict: Verdict) -> None:
    if answer.values is None:
        verdict.outcome = "oracle gave up"
        return
    verdict.outcome = "not found" if answer.values else "infeasible"
    claims = isinstance(refusal, InfeasibleInstance | ProvenInfeasible)
    if answer.values and claims:
        verdict.violations.append(f"called infeasible: {refusal}")


def _check_plan(instance: Instance, result: PlanResult, verdict: Verdict) -> None:
    """By itself: a schedule, and proven what is said to be."""
    verdict.is_proven = result.status is PlanStatus.OPTIMAL
    try:
        check_schedule(instance, result.schedule)
    except InvalidSchedule as breach:
        verdict.violations.append(f"no schedule: {breach}")
    if evaluate(instance, result.schedule, result.objective) != result.values:
        verdict.violations.append(f"it is not worth {result.values}")
    if result.certificate is not None:
        try:
            verify(instance, result.certificate)
            verdict.is_certified = True
        except InvalidCertificate as flaw:
            verdict.violations.append(f"certificate: {flaw}")


def _compare(instance: Instance, result: PlanResult, answer: Answer, verdict: Verdict) -> None:
    if answer.values is None:
        verdict.outcome = "oracle gave up"
        return
    if not answer.values:
        verdict.violations.append("planned, though the oracle finds it infeasible")
        return
    verdict.violations += bounds_above(instance, result, answer)
    if answer.is_below(result.value):
        verdict.violations.append(f"{result.value:.12g} is below {answer.least:.12g}")
    if result.settled and not answer.are(result.values):
        verdict.violations.append(f"settled at {result.values}, optimal is {answer.values}")
    if result.status is PlanStatus.OPTIMAL and answer.is_above(result.value):
        verdict.violations.append(f"called optimal at {result.value}, optimal is {answer.most}")
    verdict.value, verdict.optimum = result.value, min(answer.most, max(answer.least, result.value))
    _check_oracle(instance, result.objective, answer, verdict)


def _check_oracle(instance: Instance, objective: str, answer: Answer, verdict: Verdict) -> None:
    """The checker, which shares no code with the oracle, has to agree with it."""
    if answer.schedule is None:
        return
    try:
        check_schedule(instance, answer.schedule)
    except InvalidSchedule as breach:
        verdict.violations.append(f"the oracle's schedule is none: {breach}")
        return
    worth = evaluate(instance, answer.schedule, objective)
    given = plan(instance, AT_ONCE, hint=answer.schedule, objective=objective)
    if exceeds(given.value, worth[0]):
        verdict.violations.append(f"with a hint that is worth {worth}, it is worth {given.values}")
    if not answer.are(worth):
        verdict.violations.append(f"the oracle says {answer.values}, its schedule is worth {worth}")
