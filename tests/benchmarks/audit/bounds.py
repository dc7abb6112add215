"""Each bound that there is against an optimum."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidCertificate
from orchestrator_core.plan.bounds import Bound, lower_bound
from orchestrator_core.plan.bounds.check_certificate import verify
from orchestrator_core.plan.first_bound import EFFORTS, quick_bound
from orchestrator_core.plan.objectives.bounds import value_bound
from orchestrator_core.plan.result import PlanResult
from tests.benchmarks.audit.answer import Answer


def bounds_above(instance: Instance, result: PlanResult, answer: Answer) -> list[str]:
    """What is wrong with the plan's bound, and with those that are made without a plan."""
    found = [
        f"{name} {value:.12g} is above {answer.most:.12g}"
        for name, value in _values(instance, result)
        if answer.is_above(value)
    ]
    if result.objective.startswith("makespan"):
        for name, bound in _of_makespan(instance):
            found += _wrong(instance, name, bound, answer)
    return found


def _values(instance: Instance, result: PlanResult) -> Iterator[tuple[str, float]]:
    yield f"the plan's bound ({result.bound_method})", result.lower_bound
    bound = value_bound(instance, result.objective)
    yield f"the value bound ({bound.method})", bound.value


def _of_makespan(instance: Instance) -> Iterator[tuple[str, Bound]]:
    yield "the quick bound", quick_bound(instance)
    for rounds, _ in EFFORTS:
        yield f"the bound of {rounds} rounds", lower_bound(instance, rounds)


def _wrong(instance: Instance, name: str, bound: Bound, answer: Answer) -> list[str]:
    found = []
    if answer.is_above(bound.seconds):
        found.append(f"{name} {bound.seconds:.12g} ({bound.method}) is above {answer.most:.12g}")
    if bound.certificate is not None:
        try:
            proven = verify(instance, bound.certificate)
        except InvalidCertificate as flaw:
            return [*found, f"{name}: certificate: {flaw}"]
        if answer.is_above(proven):
            found.append(f"{name}: its certificate proves {proven:.12g}, above {answer.most:.12g}")
    return found
