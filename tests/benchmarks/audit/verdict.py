"""What an exact optimum says of a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

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
from tests.benchmarks.audit.bounds import bounds_above
from tests.benchmarks.audit.case import Case
from tests.benchmarks.audit.constraints import constraints_of
from tests.benchmarks.audit.deadlines import wrong_of_deadlines
from tests.benchmarks.audit.each_planner import wrong_of_planners
from tests.benchmarks.audit.near import exceeds, is_near
from tests.benchmarks.audit.oracle import Answer, answer_of

AT_ONCE = Budget(seconds=0.0)


@dataclass
class Verdict:
    """Attributes:
    outcome: ``planned``, ``infeasible``, ``not found`` (there is a schedule, the planners have
        none), or ``oracle gave up``.
    violations: what is wrong.
    value, optimum: of the first criterion; None if there is no plan or no optimum.
    is_proven: is the plan said to be optimal? is_certified: has its certificate been verified?
    """

    seed: int
    source: str
    objective: str
    constraints: list[str]
    outcome: str = "planned"
    violations: list[str] = field(default_factory=list)
    value: float | None = None
    optimum: float | None = None
    is_proven: bool = False
    is_certified: bool = False

    @property
    def gap(self) -> float | None:
        """Relative; infinite above an optimum of zero. None if there is no plan or no optimum."""
        if self.value is None or self.optimum is None:
            return None
        if is_near(self.value, self.optimum):
            return 0.0
        return self.value / self.optimum - 1 if self.optimum > 0 else math.inf


def verdict_of(case: Case, budget: Budget) -> Verdict:
    """Of one plan."""
    verdict = Verdict(case.seed, case.source, case.objective, constraints_of(case.instance))
    if case.drawn.refusal:
        verdict.violations.append(f"it has a schedule, but is refused: {case.drawn.refusal}")
    try:
        result = plan(case.instance, budget, objective=case.objective)
    except (InfeasibleInstance, PlanningFailed, UnsupportedInstance) as refusal:
        answer = answer_of(case.instance, case.objective, case.tick)
        _check_refusal(answer, refusal, verdict)
    else:
        _check_plan(case.instance, result, verdict)
        known = math.inf if verdict.violations else result.makespan
        answer = answer_of(case.instance, case.objective, case.tick, known)
        _compare(case.instance, result, answer, verdict)
    if answer.values is not None:
        verdict.violations += wrong_of_deadlines(case, bool(answer.values))
        verdict.violations += wrong_of_planners(
            case.instance, case.objective, answer.values, answer.schedule
        )
    _check_oracle(case, answer, verdict)
    return verdict


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
    least = answer.values[0]
    verdict.violations += bounds_above(instance, result, least)
    if exceeds(least, result.value):
        verdict.violations.append(f"{result.value:.12g} is below {least:.12g}")
    pairs = zip(result.values, answer.values, strict=True)
    if result.settled and not all(is_near(a, b) for a, b in pairs):
        verdict.violations.append(f"settled at {result.values}, optimal is {answer.values}")
    verdict.value, verdict.optimum = result.value, least


def _check_oracle(case: Case, answer: Answer, verdict: Verdict) -> None:
    """The checker, which shares no code with the oracle, has to agree with it."""
    if answer.schedule is None or not answer.values:
        return
    try:
        check_schedule(case.instance, answer.schedule)
    except InvalidSchedule as breach:
        verdict.violations.append(f"the oracle's schedule is none: {breach}")
        return
    worth = evaluate(case.instance, answer.schedule, case.objective)
    given = plan(case.instance, AT_ONCE, hint=answer.schedule, objective=case.objective)
    if exceeds(given.value, worth[0]):
        verdict.violations.append(f"with a hint that is worth {worth}, it is worth {given.values}")
    if not all(is_near(a, b) for a, b in zip(worth, answer.values, strict=True)):
        verdict.violations.append(f"the oracle says {answer.values}, its schedule is worth {worth}")
