"""Each planner by itself: what it proposes is a schedule, and what it proves is true.

The portfolio refuses what is wrong with a word among the attempts, so that a plan alone does not
show it; and it asks most planners only where the first ones have not found the optimum.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidCertificate, InvalidSchedule, UnsupportedInstance
from orchestrator_core.plan.bounds.check_certificate import verify
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.planner import Brief, Planner, Proposal
from orchestrator_core.plan.portfolio import registered
from orchestrator_core.plan.schedule import Schedule
from tests.benchmarks.audit.answer import Answer

STEPS = Budget(seconds=5.0, iterations=30)


def wrong_of_planners(instance: Instance, criteria: str, answer: Answer) -> list[str]:
    """What is wrong with any of them. List planners begin with nothing; the others with the worst
    that these find, and with the optimum."""
    objective, found = Objective.of(criteria), list[str]()
    worst: Schedule | None = None
    for planner in registered():
        if planner.unsupported(instance, objective) is not None:
            continue
        starts = [worst] if planner.lane is Lane.LIST else [worst, answer.schedule]
        for start in starts:
            for proposal in _proposals(planner, Brief(instance, STEPS, objective, start), found):
                wrong = list(_wrong(instance, objective, answer, proposal))
                found += [f"{planner.name}: {each}" for each in wrong]
                if planner.lane is Lane.LIST and proposal.schedule is not None and not wrong:
                    worst = _worse(instance, worst, proposal.schedule)
    return found


def _proposals(planner: Planner, brief: Brief, found: list[str]) -> Iterator[Proposal]:
    try:
        yield from planner.plan(brief)
    except UnsupportedInstance:
        return
    except Exception as error:  # the audit goes on, and says so
        found.append(f"{planner.name} raises {type(error).__name__}: {error}")


def _worse(instance: Instance, one: Schedule | None, other: Schedule) -> Schedule:
    return other if one is None or other.makespan > one.makespan else one


def _wrong(
    instance: Instance, objective: Objective, answer: Answer, proposal: Proposal
) -> Iterator[str]:
    if answer.is_above(proposal.lower_bound):
        yield f"its bound {proposal.lower_bound:.12g} is above {answer.most:.12g}"
    if proposal.least is not None and not answer.are(proposal.least):
        yield f"it says that {proposal.least} is the least, which is {answer.values}"
    if proposal.certificate is not None:
        try:
            verify(instance, proposal.certificate)
        except InvalidCertificate as flaw:
            yield f"certificate: {flaw}"
    for schedule in (proposal.schedule, proposal.seed):
        if schedule is not None:
            yield from _wrong_schedule(instance, objective, answer, schedule)


def _wrong_schedule(
    instance: Instance, objective: Objective, answer: Answer, schedule: Schedule
) -> Iterator[str]:
    try:
        check_schedule(instance, schedule)
    except InvalidSchedule as breach:
        yield f"no schedule: {breach}"
        return
    value = evaluate(instance, schedule, objective)[0]
    if answer.is_below(value):
        yield f"its schedule is worth {value:.12g}, the optimum is {answer.least:.12g}"
