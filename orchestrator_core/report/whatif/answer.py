"""The answer to "what if?": how long it would take, and what nothing can save more than."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.delayed import delayed
from orchestrator_core.plan.result import OPTIMALITY_TOLERANCE, PlanResult
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.report.planning import kept
from orchestrator_core.report.priced import RunPrices
from orchestrator_core.report.whatif.change import Change
from orchestrator_core.report.whatif.notes import notes_on

GOOD_ENOUGH = 0.005
"""Gap of the run's plan up to which it is not planned anew as it was."""

SHARE = 0.4
"""Part of the budget for the run as it was; the rest is for the change."""


@dataclass(frozen=True, slots=True)
class WorkerLoad:
    """Thread-seconds that a worker works over those that it has; None where it is not there."""

    name: str
    kind: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A run as it was planned, and as it would be planned with the change.

    Attributes:
        before: seconds of the run's plan; if it had none, of the best plan for it as it was
            (`planned_before` is False then).
        again: seconds of the best plan known for the run as it was: what planning anew alone gives.
        after: seconds of the plan with the change. lower_bound: no plan with it can be shorter.
        took: seconds that the run really took. notes: what was assumed, in sentences.
        lead: seconds from the run's first submission until its first task started.

    All other seconds are from the start of the first task to the end of the last.
    """

    run_id: str
    flow: str
    change: Change
    before: float
    planned_before: bool
    again: float
    after: float
    lower_bound: float
    bound_method: str
    planner: str
    took: float
    workers: tuple[WorkerLoad, ...]
    notes: tuple[str, ...] = ()
    lead: float = 0.0

    @property
    def saves(self) -> float:
        """Part of `before` that is saved; below 0: that it takes longer."""
        return 1 - self.after / self.before if self.before > 0 else 0.0

    @property
    def at_most(self) -> float:
        """No plan saves a larger part than this."""
        return 1 - self.lower_bound / self.before if self.before > 0 else 0.0

    @property
    def by_planning(self) -> float:
        """Part of `before` that planning anew saves without any change."""
        return 1 - self.again / self.before if self.before > 0 else 0.0

    @property
    def optimal(self) -> bool:
        return self.after <= self.lower_bound * (1 + OPTIMALITY_TOLERANCE)


def what_if(prices: RunPrices, change: Change, budget: Budget | None = None) -> WhatIf:
    """The answer.

    Args:
        budget: of both plans together; by default two seconds.

    Raises:
        InfeasibleInstance: if a task can run nowhere any more.
        OrchestratorError: if no plan is possible.
    """
    limits = budget or Budget()
    changed = change.instance(prices)
    before, planned, again = _unchanged(prices, _part(limits, SHARE))
    after = _solve(changed, _part(limits, 1 - SHARE), kept(changed, again))
    return WhatIf(
        run_id=prices.run.run_id,
        flow=prices.run.flow,
        change=change,
        before=before.makespan,
        planned_before=planned,
        again=_again(prices.instance, before, again, after.schedule),
        after=after.makespan,
        lower_bound=after.lower_bound,
        bound_method=after.bound_method,
        planner=after.planner,
        took=prices.run.seconds - _lead(prices.run),
        lead=_lead(prices.run),
        workers=_loads(prices.instance, before, changed, after.schedule),
        notes=tuple(notes_on(prices, change)),
    )


def _lead(run: RunRecord) -> float:
    return min((task.start for task in run.tasks), default=0.0)


def _unchanged(prices: RunPrices, budget: Budget) -> tuple[Schedule, bool, Schedule]:
    """(the plan of the run, was it the run's own, the best plan known) without the change."""
    plan, instance = prices.run.plan, prices.instance
    own = None if plan is None else kept(instance, plan.schedule)
    if plan is None or own is None:
        found = _solve(instance, budget, None).schedule
        return found, False, found
    if not len(own):
        return plan.schedule, True, own
    # Other plans begin at once; a run's own, when all was submitted.
    before = delayed(plan.schedule, float(own.start.min() - plan.schedule.start.min()))
    bound = plan.lower_bound
    if bound > 0 and plan.schedule.makespan <= bound * (1 + GOOD_ENOUGH):
        return before, True, own
    return before, True, _solve(instance, budget, own).schedule


def _again(instance: Instance, *plans: Schedule) -> float:
    """The shortest of these plans without the change: one for the change may do without it."""
    known = (kept(instance, plan) for plan in plans[1:])
    return min(plans[0].makespan, *(plan.makespan for plan in known if plan is not None))


def _solve(instance: Instance, budget: Budget, hint: Schedule | None) -> PlanResult:
    from orchestrator_core.plan.portfolio import plan

    return plan(instance, budget, hint=hint)


def _part(budget: Budget, share: float) -> Budget:
    return replace(budget, seconds=budget.seconds * share)


def _loads(
    old: Instance, before: Schedule, new: Instance, after: Schedule
) -> tuple[WorkerLoad, ...]:
    was, now = _busy(old, before), _busy(new, after)
    kinds = {worker.name: worker.kind for worker in (*new.cluster.workers, *old.cluster.workers)}
    names = dict.fromkeys([*old.cluster.names, *new.cluster.names])
    return tuple(WorkerLoad(name, kinds[name], was.get(name), now.get(name)) for name in names)


def _busy(instance: Instance, schedule: Schedule) -> dict[str, float]:
    graph, end = instance.graph, schedule.makespan
    busy = dict.fromkeys(instance.cluster.names, 0.0)
    for a in schedule.assignments:
        first = int(graph.mode_ptr[graph.index[a.task]])
        pieces = a.segments or ((a.start, a.end),)
        threads = int(graph.mode_threads[first + a.mode])
        busy[a.worker] += threads * sum(until - since for since, until in pieces)
    return {
        worker.name: busy[worker.name] / (worker.threads * end) if end > 0 else 0.0
        for worker in instance.cluster.workers
    }
