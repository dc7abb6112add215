"""Mending a plan that minimises something else than the makespan, or has dates to keep.

Repair knows ends and deadlines, and nothing of money or bytes. So it is asked several times, each
time with other freedom, and what it finds is judged by the objective itself, past and future
together. The steadiest answer, in which only those tasks go elsewhere that have to, is left only
for one that saves enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.costs.feasible import earliest_ends
from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives.saving import ROUNDING, saves
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.repair import Event, Replan, replan
from orchestrator_core.plan.schedule import Schedule

MONEY = frozenset({"price", "busy-price"})

DUE = Budget(seconds=0.05)
"""For the search of an order that keeps dates."""


@dataclass(frozen=True, slots=True)
class Mended:
    """What was found.

    Attributes:
        steady: only those tasks go elsewhere that have to. best: what is to be done; perhaps the
            same.
        kept, values: what these two are worth under the objective; infinite where tasks are left
            out.
    """

    steady: Replan
    best: Replan
    kept: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Mending:
    """A plan to be mended for an objective.

    Attributes:
        rest: the problem as it is now; dates are due dates, for deadlines may be missed by now.
        whole: the same with the workers that are gone, so that the past can be judged too.
        schedule, now, events, wanted: as `plan.repair.replan` takes them.
        share: part of a criterion that a change must save.
    """

    rest: Instance
    whole: Instance
    schedule: Schedule
    now: float
    events: tuple[Event, ...]
    wanted: tuple[str, ...]
    objective: Objective
    share: float

    def mended(self, budget: Budget | None = None) -> Mended:
        """The best that repair finds; the budget is for a search, which nobody makes for money.

        Raises:
            OrchestratorError: if no repair is possible.
        """
        workers = len(self.rest.cluster)
        steady = best = self._repaired(self._limited(np.eye(workers, dtype=np.bool_)), None)
        kept = values = self._values(steady)
        for freedom in self._freedoms():
            found = self._repaired(freedom, self._budget(budget))
            theirs = self._values(found)
            if saves(theirs, values, self.share)[0]:
                best, values = found, theirs
        return Mended(steady, best, kept, values)

    def _budget(self, budget: Budget | None) -> Budget | None:
        """What is due soon has to overtake what was planned before it: only a search sees to it."""
        if self.objective.primary == "tardiness":
            return budget or DUE
        return None if self.objective.primary in MONEY else budget

    def _freedoms(self) -> Iterator[Instance]:
        if MONEY & set(self.objective.criteria):
            prices = np.array([worker.price for worker in self.rest.cluster.workers])
            yield self._limited(prices[None, :] == prices[:, None])
        yield self.rest

    def _limited(self, allowed: NDArray[np.bool_]) -> Instance:
        """Each task only where `allowed` (w, w) says, by the worker where it is planned. If that
        worker is gone: where it costs least, or without prices anywhere."""
        rest, plan = self.rest, self.schedule
        graph, index = rest.graph, rest.cluster.index
        at = np.array([index.get(name, -1) for name in plan.worker_names])[plan.worker]
        task = np.array([graph.index[name] for name in plan.task_names])[plan.task]
        free = np.zeros((len(graph), len(rest.cluster)), dtype=np.bool_)
        np.logical_or.at(free, task[at >= 0], allowed[at[at >= 0]])
        kept = np.isfinite(rest.seconds) & free[graph.mode_task]
        homeless = ~np.logical_or.reduceat(kept.any(axis=1), graph.mode_ptr[:-1])[graph.mode_task]
        kept = np.where(homeless[:, None], self._cheapest(), kept)
        return Instance(graph, rest.cluster, np.where(kept, rest.seconds, np.inf))

    def _cheapest(self) -> NDArray[np.bool_]:
        """(m, w) is the mode possible there, and as cheap as anywhere if prices are asked for?"""
        possible = np.isfinite(self.rest.seconds)
        if not MONEY & set(self.objective.criteria):
            return possible
        prices = np.array([worker.price for worker in self.rest.cluster.workers])
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


def _dated(rest: Instance) -> Instance:
    """The due dates as deadlines, which repair keeps if it can; no sooner than is possible."""
    due = rest.graph.due
    ends = earliest_ends(replace(rest.graph, deadline=due), rest.best_seconds)
    deadline = np.maximum(due, ends)
    deadline.flags.writeable = False
    return Instance(replace(rest.graph, deadline=deadline), rest.cluster, rest.seconds)
