"""plan: an instance and a budget in, the best schedule with its proof out (stage 3).

List planners give the incumbent, the cheapest first; a local search betters it; then CP-SAT, where
the instance is small enough, betters it once more and proves. Every schedule passes
`check_schedule` before it counts; a planner that raises, hangs or is wrong is named in the attempts
and passed by.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Sequence

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import (
    InvalidInput,
    InvalidSchedule,
    PlanningFailed,
    UnsupportedInstance,
)
from orchestrator_core.plan.bounds import Bound, lower_bound
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.guard import guarded
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS, ListPlanner
from orchestrator_core.plan.planner import Brief, Planner, Proposal
from orchestrator_core.plan.reason import reason_of
from orchestrator_core.plan.result import Attempt, PlanResult
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.local_search import LocalSearch

SECONDS_PER_CHOICE = 5e-8
"""A list planner's time for each task and worker, for the question whether it fits in a budget."""

FREE = 0.005
"""A list planner that takes less than these seconds always runs."""

GRACE = 2.0
"""Seconds beyond its budget after which a planner counts as hanging."""

GRACE_BY_STEPS = 600.0
"""The same where the budget counts steps, since a slow machine is no hang."""

HINT = "hint"
"""Names the schedule that was handed in, where a planner's name is expected."""


def plan(
    instance: Instance,
    budget: Budget | None = None,
    planners: Sequence[str] | None = None,
    *,
    hint: Schedule | None = None,
    _registry: Sequence[Planner] | None = None,
) -> PlanResult:
    """The best schedule that the planners find within the budget, and how good it is at least.

    The cheapest planners always run, whatever the budget. With `budget.iterations`, the same
    instance, seed and iterations give the same schedule.

    Args:
        planners: names of those to ask, in this order; None for all.
        hint: a schedule of this instance, such as a stored one, to begin with if it is valid.

    Raises:
        InvalidInput: if a name is none of a planner's; the message lists them.
        UnsupportedInstance: if no planner can take the instance; it names their reasons.
        PlanningFailed: if no planner found a schedule; it says what each of them met.
    """
    chosen = _choose(registered() if _registry is None else _registry, planners)
    search = _Search(instance, budget or Budget())
    if len(instance.graph) == 0:
        return search.of_nothing()
    if hint is not None:
        search.consider(HINT, Proposal(hint), seconds=0.0)
    for planner in chosen:
        search.ask(planner)
    return search.result()


def registered() -> tuple[Planner, ...]:
    """All planners, in the order in which they are asked."""
    from orchestrator_core.plan.cpsat.planner import CpSatPlanner

    return (*LIST_PLANNERS, LocalSearch(), CpSatPlanner())


def _choose(known: Sequence[Planner], names: Sequence[str] | None) -> list[Planner]:
    if names is None:
        return list(known)
    by_name = {planner.name: planner for planner in known}
    if not names:
        raise InvalidInput(f"planners is empty; name some of {sorted(by_name)}, or leave it out")
    for name in names:
        if name not in by_name:
            raise InvalidInput(f"there is no planner {name!r}; there are {sorted(by_name)}")
    return [by_name[name] for name in names]


class _Search:
    """The incumbent, the best bound and the attempts, while planners are asked one by one."""

    def __init__(self, instance: Instance, budget: Budget) -> None:
        self.instance, self.budget = instance, budget
        self.started = time.perf_counter()
        self.schedule: Schedule | None = None
        self.planner = ""
        self.attempts: list[Attempt] = []
        self.unsupported: list[str] = []
        self.bound = lower_bound(instance)

    def ask(self, planner: Planner) -> None:
        """Let a planner try, unless there is nothing left to gain, or no time."""
        if self._good_enough():
            return
        trouble = planner.unsupported(self.instance)
        if trouble is not None:
            self.unsupported.append(planner.name)
            self._note(planner.name, f"cannot take it: {trouble}")
            return
        left = self.budget.seconds - self._elapsed()
        if self.budget.iterations is None and not self._affords(planner, left):
            self._note(planner.name, f"was not tried: {max(left, 0.0):.2g} s were left")
            return
        began = time.perf_counter()
        try:
            for proposal in self._proposals(planner, max(left, 0.0)):
                self.consider(planner.name, proposal, time.perf_counter() - began)
        except UnsupportedInstance as error:
            self.unsupported.append(planner.name)
            self._note(planner.name, f"cannot take it: {error}", time.perf_counter() - began)
        except TimeoutError:
            self._note(planner.name, "hung, and was left behind", time.perf_counter() - began)
        except Exception as error:  # a broken planner must not cost the plan
            text = f"failed: {type(error).__name__}: {error}"
            self._note(planner.name, text, time.perf_counter() - began)

    def consider(self, name: str, proposal: Proposal, seconds: float) -> None:
        """Take over what is better: the schedule if it is valid, the bound if it can be true."""
        note, makespan = proposal.note, None
        if proposal.schedule is not None:
            makespan = proposal.schedule.makespan
            if self.schedule is None or not makespan >= self.schedule.makespan:
                try:
                    check_schedule(self.instance, proposal.schedule)
                except InvalidSchedule as error:
                    note, makespan = f"gave an invalid schedule: {error}", None
                else:
                    self.schedule, self.planner = proposal.schedule, name
        if proposal.lower_bound > self.bound.seconds:
            best = self.schedule.makespan if self.schedule is not None else float("inf")
            if proposal.lower_bound <= best * (1 + 1e-6):
                self.bound = Bound(min(proposal.lower_bound, best), name)
            else:
                note = f"its bound of {proposal.lower_bound:g} s exceeds a schedule of {best:g} s"
        attempt = Attempt(name, makespan, seconds, note)
        if self.attempts and self.attempts[-1].planner == name:
            before = self.attempts.pop()
            if makespan is None:
                attempt = dataclasses.replace(attempt, makespan=before.makespan)
        self.attempts.append(attempt)

    def result(self) -> PlanResult:
        if self.schedule is None:
            self._fail()
        assert self.schedule is not None
        method = "CP-SAT" if self.bound.method == "cpsat" else self.bound.method
        bare = PlanResult(
            schedule=self.schedule,
            lower_bound=self.bound.seconds,
            bound_method=method,
            planner=self.planner,
            reason="",
            seconds=self._elapsed(),
            attempts=tuple(self.attempts),
        )
        return dataclasses.replace(bare, reason=reason_of(bare))

    def of_nothing(self) -> PlanResult:
        """The empty schedule of a graph without tasks."""
        cluster = self.instance.cluster
        empty = Schedule.from_columns((), cluster.names, task=())
        return PlanResult(
            empty, 0.0, "no tasks", "none", "There is nothing to schedule.", self._elapsed()
        )

    def _proposals(self, planner: Planner, left: float) -> Iterable[Proposal]:
        budget = dataclasses.replace(self.budget, seconds=left)
        brief = Brief(
            instance=self.instance,
            budget=budget,
            incumbent=self.schedule,
            lower_bound=self.bound.seconds,
        )
        if isinstance(planner, ListPlanner | LocalSearch):
            return planner.plan(brief)
        grace = GRACE if budget.iterations is None else GRACE_BY_STEPS
        return guarded(lambda: list(planner.plan(brief)), left + grace)

    def _affords(self, planner: Planner, left: float) -> bool:
        """Is there time for it? List planners run in any case until there is a schedule."""
        if not isinstance(planner, ListPlanner):
            return left > 0 or (self.schedule is None and not self.attempts)
        if self.schedule is None:
            return True
        choices = self.instance.graph.n_instances * len(self.instance.cluster)
        return choices * SECONDS_PER_CHOICE * planner.work <= max(left, FREE)

    def _good_enough(self) -> bool:
        if self.schedule is None:
            return False
        return self.schedule.makespan <= self.bound.seconds * (1 + self.budget.gap) + 1e-12

    def _note(self, name: str, note: str, seconds: float = 0.0) -> None:
        self.attempts.append(Attempt(name, None, seconds, note))

    def _elapsed(self) -> float:
        return time.perf_counter() - self.started

    def _fail(self) -> None:
        told = "; ".join(f"{attempt.planner}: {attempt.note}" for attempt in self.attempts)
        if self.attempts and len(self.unsupported) == len(self.attempts):
            raise UnsupportedInstance(f"no planner takes this instance: {told}")
        raise PlanningFailed(
            f"no planner found a schedule: {told}. Give more seconds, memory or workers, or relax "
            "deadlines"
        )
