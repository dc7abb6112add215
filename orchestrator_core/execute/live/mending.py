"""Mending a plan that is for something else than the makespan: money, dates, memory.

Repair knows ends and deadlines, and nothing of money or bytes. So it is asked several times, each
time with other freedom, and what it finds is judged by the objective itself, past and future
together. The steadiest answer, in which only those tasks go elsewhere that have to, is left only
for one that saves enough. A plan that saves memory is repaired for the makespan, and the answer
judged by the bytes as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.costs.feasible import earliest_ends
from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.execute.simulate.footprint import footprint
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives.saving import ROUNDING, saves
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.repair import Event, Replan, replan
from orchestrator_core.plan.schedule import Schedule

MONEY = frozenset({"price", "busy-price"})

DUE = Budget(seconds=0.05)
"""At least, for the search of an order that keeps dates."""


@dataclass(frozen=True, slots=True)
class Mended:
    """What was found.

    Attributes:
        steady: only those tasks go elsewhere that have to. best: what is to be done; perhaps the
            same.
        kept, values: what these two are worth under the objective; infinite where tasks are left
            out.
        costs: money, of both; the same, where no price was asked for.
    """

    steady: Replan
    best: Replan
    kept: tuple[float, ...]
    values: tuple[float, ...]
    costs: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Mending:
    """A plan to be mended for an objective.

    Attributes:
        rest: the problem as it is now; dates are due dates, for deadlines may be missed by now.
        whole: the same with the workers that are gone, so that the past can be judged too.
        schedule, now, events, wanted: as `plan.repair.replan` takes them.
        share: part of a criterion that a change must save.
        max_price: what the run may cost, past and future together; no change may cost more, unless
            what is left costs more wherever it goes.
    """

    rest: Instance
    whole: Instance
    schedule: Schedule
    now: float
    events: tuple[Event, ...]
    wanted: tuple[str, ...]
    objective: Objective
    share: float
    max_price: float | None = None

    def mended(self, budget: Budget | None = None) -> Mended:
        """The best that repair finds; the budget is for a search, which nobody makes for money.

        Raises:
            OrchestratorError: if no repair is possible.
        """
        steady = best = self._steady()
        kept = values = self._values(steady)
        cost = price = self._cost(steady)
        for freedom in self._freedoms():
            found = self._repaired(freedom, self._budget(budget))
            theirs, costs = self._values(found), self._cost(found)
            ours = (self._over(price), *values)
            if saves((self._over(costs), *theirs), ours, self.share)[0]:
                best, values, price = found, theirs, costs
        return Mended(steady, best, kept, values, (cost, price))

    def repaired(self, budget: Budget | None = None) -> Replan:
        """One repair with all freedom, judged by nobody.

        Raises:
            OrchestratorError: if no repair is possible.
        """
        return self._repaired(self.rest, budget)

    def holds_more(self, found: Replan) -> bool:
        """Would the run hold more bytes at one moment than if all stayed where it can?"""
        try:
            stays = footprint(self.whole, self._steady().schedule).peak
            return footprint(self.whole, found.schedule).peak > stays * (1 + ROUNDING)
        except InvalidSchedule:
            return True  # Some task is left out; who knows.

    def _steady(self) -> Replan:
        """Only those tasks go elsewhere that have to."""
        return self._repaired(self._limited(np.eye(len(self.rest.cluster), dtype=np.bool_)), None)

    def _budget(self, budget: Budget | None) -> Budget | None:
        """What is due soon has to overtake what was planned before it: only a search sees to it."""
        if self.objective.primary == "tardiness":
            return DUE if budget is None or budget.seconds < DUE.seconds else budget
        return None if self.objective.primary in MONEY else budget

    def _freedoms(self) -> Iterator[Instance]:
        if MONEY & set(self.objective.criteria):
            prices = self._prices()
            yield self._limited(prices[None, :] == prices[:, None])
        yield self.rest
        if self.max_price is not None:
            yield from self._cheaper()

    def _cheaper(self) -> Iterator[Instance]:
        """Without the dearest workers, and without all but the cheapest."""
        prices = self._prices()
        possible = np.isfinite(self.rest.seconds)
        for limit in sorted({np.unique(prices)[:-1][i] for i in (0, -1) if np.ptp(prices) > 0}):
            yield self._only(possible & (prices <= limit), possible)

    def _limited(self, allowed: NDArray[np.bool_]) -> Instance:
        """Each task only where `allowed` (w, w) says, by the worker where it is planned. If that
        worker is gone: where it costs least, or without prices anywhere."""
        rest, plan = self.rest, self.schedule
        graph, index = rest.graph, rest.cluster.index
        at = np.array([index.get(name, -1) for name in plan.worker_names])[plan.worker]
        task = np.array([graph.index[name] for name in plan.task_names])[plan.task]
        free = np.zeros((len(graph), len(rest.cluster)), dtype=np.bool_)
        np.logical_or.at(free, task[at >= 0], allowed[at[at >= 0]])
        return self._only(np.isfinite(rest.seconds) & free[graph.mode_task], self._cheapest())

    def _only(self, kept: NDArray[np.bool_], otherwise: NDArray[np.bool_]) -> Instance:
        """Each task only where it is `kept` (m, w); or `otherwise`, if that is nowhere."""
        rest, graph = self.rest, self.rest.graph
        homeless = ~np.logical_or.reduceat(kept.any(axis=1), graph.mode_ptr[:-1])[graph.mode_task]
        kept = np.where(homeless[:, None], otherwise, kept)
        return Instance(graph, rest.cluster, np.where(kept, rest.seconds, np.inf))

    def _prices(self) -> NDArray[np.float64]:
        return np.array([worker.price for worker in self.rest.cluster.workers])

    def _cheapest(self) -> NDArray[np.bool_]:
        """(m, w) is the mode possible there, and as cheap as anywhere if prices are asked for?"""
        possible = np.isfinite(self.rest.seconds)
        if not MONEY & set(self.objective.criteria):
            return possible
        prices = self._prices()
        costs = np.where(possible, self.rest.seconds, 0.0) * prices
        costs[~possible] = np.inf
        cheapest = costs <= costs.min(axis=1, keepdims=True) * (1 + ROUNDING)
        return np.asarray(possible & cheapest, dtype=np.bool_)

    def _repaired(self, instance: Instance, budget: Budget | None) -> Replan:
        return replan(
            _dated(instance) if "tardiness" in self.objective.criteria else instance,
            self.schedule,
            self.now,
            self.events,
            budget=budget,
            wanted=self.wanted,
            forgets=True,
        )

    def _values(self, found: Replan) -> tuple[float, ...]:
        try:
            return evaluate(self.whole, found.schedule, self.objective)
        except InvalidSchedule:
            # Some task is left out, or ran where nobody thought that it could.
            return (np.inf,) * len(self.objective.criteria)

    def _cost(self, found: Replan) -> float:
        """What the whole run costs; 0 where nobody asks."""
        if self.max_price is None:
            return 0.0
        try:
            return evaluate(self.whole, found.schedule, "price")[0]
        except InvalidSchedule:
            return np.inf

    def _over(self, cost: float) -> float:
        """By how much that is more than the run may cost."""
        return 0.0 if self.max_price is None else max(0.0, cost - self.max_price * (1 + ROUNDING))


def _dated(rest: Instance) -> Instance:
    """The due dates as deadlines, which repair keeps if it can; no sooner than is possible."""
    due = rest.graph.due
    ends = earliest_ends(replace(rest.graph, deadline=due), rest.best_seconds)
    deadline = np.maximum(due, ends)
    deadline.flags.writeable = False
    return Instance(replace(rest.graph, deadline=deadline), rest.cluster, rest.seconds)
