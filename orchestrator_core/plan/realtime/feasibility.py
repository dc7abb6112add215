"""feasibility: can all hard deadlines be kept? Asked before anything runs (stage 3, real time).

First the quick necessary tests, then a search for a schedule, then CP-SAT. Where the answer is no,
deadlines are left out one by one as long as the answer stays no (deletion filter; Chinneck and
Dravnieks 1991): what is left is a smallest conflict, in the sense that each of its deadlines is
needed for it.
"""

from __future__ import annotations

import time

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.bounds.demand import dates
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.given import check_budget, check_instance
from orchestrator_core.plan.realtime.deadlines import bound_tasks, with_deadlines
from orchestrator_core.plan.realtime.prove import Nothing, Proof, load, prove
from orchestrator_core.plan.realtime.verdict import Feasible, Infeasible, Unknown, Verdict
from orchestrator_core.plan.schedule import Schedule

FILTER_SHARE = 0.5
"""Part of the budget that is kept for making a conflict small."""


def feasibility(instance: Instance, budget: Budget | None = None) -> Verdict:
    """A schedule that keeps all deadlines, or the smallest set that cannot be kept, or neither.

    Args:
        budget: default 2 s. The first call of a process takes longer, to load code.
    """
    check_instance(instance)
    check_budget(budget)
    budget = budget or Budget()
    load()
    began = time.perf_counter()
    first = began + (1 - FILTER_SHARE) * budget.seconds
    answer = prove(instance, first, budget.seed)
    if isinstance(answer, Nothing):
        answer = prove(instance, began + budget.seconds, budget.seed + 1)
    if isinstance(answer, Schedule):
        return Feasible(answer, "schedule")
    if isinstance(answer, Nothing):
        return Unknown(f"not shown in {budget.seconds:g} s: {answer.note}")
    return _smallest(instance, answer, began + budget.seconds, budget.seed)


def _smallest(instance: Instance, proof: Proof, until: float, seed: int) -> Infeasible:
    """The conflict after all deadlines that it does not need are left out."""
    conflict, proof = _begin(instance, proof)
    slack = instance.graph.deadline - instance.best_seconds
    certain = True
    for task in sorted(conflict, key=lambda t: -slack[t]):
        if time.perf_counter() > until:
            certain = False
            break
        others = [other for other in conflict if other != task]
        answer = _ask(instance, others, until, seed, len(conflict))
        if isinstance(answer, Proof):
            conflict, proof = others, answer
        elif isinstance(answer, Nothing):
            certain = False
    names = tuple(instance.graph.names[task] for task in sorted(conflict))
    return Infeasible(names, _reason(instance, conflict, proof), proof.method, certain)


def _begin(instance: Instance, proof: Proof) -> tuple[list[int], Proof]:
    """All deadlines, or only those behind the overloaded window if they suffice for it."""
    everything = bound_tasks(instance)
    if proof.window is None:
        return everything, proof
    from orchestrator_core.plan.engine.expand import expand

    inside = set(expand(instance).task[proof.window.units].tolist())
    few = [task for task in everything if task in inside]
    answer = _ask(instance, few, time.perf_counter() + 0.01, 0, 1)
    return (few, answer) if isinstance(answer, Proof) else (everything, proof)


def _ask(
    instance: Instance, tasks: list[int], until: float, seed: int, rounds: int
) -> Schedule | Proof | Nothing:
    """The answer for some of the deadlines, in a fair part of the time that is left."""
    now = time.perf_counter()
    part = 2.0 * (until - now) / (rounds + 1)
    return prove(with_deadlines(instance, tasks), now + part, seed)


def _reason(instance: Instance, conflict: list[int], proof: Proof) -> str:
    graph = instance.graph
    if not conflict:
        return "there is no schedule, even without any deadline"
    if proof.window is not None:
        asking = f"the deadlines of {dates(instance, conflict)} ask for it"
        return f"{proof.window.told(instance)}; {asking}"
    if len(conflict) == 1:
        task = conflict[0]
        return (
            f"task {graph.names[task]!r} cannot end by its deadline of {graph.deadline[task]:.6g} "
            f"s, even if no other task had one ({proof.method})"
        )
    return (
        f"no schedule keeps the deadlines of {dates(instance, conflict)} together ({proof.method})"
    )
