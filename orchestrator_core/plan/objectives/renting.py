"""Renting: in which order workers are taken, where not all of them are (stage 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.ranks import ready_order, upward_rank
from orchestrator_core.plan.objectives.values import per_second

Ranking = NDArray[np.int64]
"""(w,) all workers, whom to take first coming first."""


@dataclass(frozen=True, slots=True)
class Renting:
    """An instance, for list schedules on some of its workers.

    Attributes:
        seconds: (n, w) of each task, infinite where it cannot run. order: (n,) of the tasks, the
            most urgent first. price: (w,) money a second.
        rankings: by the price of all work, and by its time; those that can do the most come first.
    """

    problem: Problem
    seconds: Floats
    order: Ints
    price: Floats
    rankings: tuple[Ranking, Ranking]

    @staticmethod
    def of(instance: Instance) -> Renting:
        """Raises: UnsupportedInstance: as `expand` does."""
        problem = expand(instance)
        seconds = best_seconds(problem)
        order = ready_order(problem, upward_rank(problem, seconds.min(axis=1), 0.0, 0.0))
        price = per_second(instance.cluster)
        return Renting(problem, seconds, order, price, _rankings(problem, seconds, price))

    def cheapest(self) -> Ints:
        """(n,) where each task costs least, by its share of the worker."""
        may = np.isfinite(self.seconds)
        spent = np.where(may, self.seconds, 0.0) * self.price / self.problem.worker_threads
        spent[~may] = np.inf
        return np.asarray(spent.argmin(axis=1), dtype=np.int64)


def _rankings(problem: Problem, seconds: Floats, price: Floats) -> tuple[Ranking, Ranking]:
    eligible = np.isfinite(seconds)
    absent = (~eligible).sum(axis=0)
    total = np.sum(seconds, axis=0, where=eligible) / problem.worker_threads
    by_price, by_time = (
        np.lexsort((amount, absent)).astype(np.int64) for amount in (total * price, total)
    )
    return by_price, by_time
