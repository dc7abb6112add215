"""Plans on a few of the workers, as choices for the decoder: for what must not cost much."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.ranks import ready_order, upward_rank
from orchestrator_core.plan.objectives.leased import leased

MOST_SUBSETS = 40
"""Beyond, the subsets grow in larger steps."""

PARTS = (1 / 2, 1 / 4, 3 / 4, 1 / 8, 3 / 8, 5 / 8, 7 / 8)
"""Parts of the time for which a worker is rented beside others."""

AVOID = 1e18
"""Seconds added to the end on a worker outside of the subset: it is taken only if nobody else
can."""


def worker_subsets(instance: Instance) -> Iterator[Choice]:
    """Each task where it is cheapest; then list schedules on the first k workers, from one to all,
    once with the cheapest for their work first, once with the fastest; then what lies between.

    After the subsets of W. Zheng, R. Sakellariou: Budget-deadline constrained workflow planning.
    Journal of Grid Computing 11, 2013; here the decoder chooses within a subset.
    """
    problem = expand(instance)
    seconds = best_seconds(problem)
    order = ready_order(problem, upward_rank(problem, seconds.min(axis=1), 0.0, 0.0))
    price = np.array([worker.price for worker in instance.cluster.workers])
    yield Choice(order, worker=_cheapest(problem, seconds, price))
    seen: set[frozenset[int]] = set()
    rankings = list(_rankings(problem, seconds, price))
    for ranking in rankings:
        w = len(ranking)
        for k in np.unique(np.linspace(1, w, min(w, MOST_SUBSETS)).astype(np.int64)).tolist():
            chosen = frozenset(ranking[:k].tolist())
            if chosen not in seen:
                seen.add(chosen)
                yield Choice(order, ahead=_ahead(seconds, chosen))
    for b in np.argsort(price, kind="stable")[:MOST_SUBSETS].tolist():
        if frozenset([b]) not in seen:
            yield Choice(order, ahead=_ahead(seconds, frozenset([b])))
    if len(price) <= MOST_SUBSETS:
        yield from _between(problem, seconds, order, rankings)


def _between(
    problem: Problem, seconds: Floats, order: Ints, rankings: list[NDArray[np.int64]]
) -> Iterator[Choice]:
    """Between k workers and k + 1 the last one is rented for a part of the time, at the beginning
    or at the end: what that costs lies between, too. Halves come first, then quarters."""
    found = [(ranking, _ends(problem, seconds, order, ranking)) for ranking in rankings]
    for part in PARTS:
        for ranking, ends in found:
            for k in range(1, len(ranking)):
                rented = part * ends[k]
                late = ends[k - 1] + part * (ends[k] - ends[k - 1]) - rented
                for begin in (0.0, late):
                    lease = _leases(ranking, k, begin, begin + rented)
                    yield Choice(order, worker=leased(problem, order, seconds, *lease)[0])


def _ends(
    problem: Problem, seconds: Floats, order: Ints, ranking: NDArray[np.int64]
) -> list[float]:
    """About when all is done by the first of these workers, by the first two of them, ..."""
    leases = (_leases(ranking, k, 0.0, np.inf) for k in range(len(ranking)))
    return [leased(problem, order, seconds, *lease)[1] for lease in leases]


def _leases(ranking: NDArray[np.int64], k: int, begin: float, end: float) -> tuple[Floats, Floats]:
    """(w,) since when and until when each worker is rented: the first k all the time, and one more
    from `begin` to `end`."""
    since, until = np.full(len(ranking), np.inf), np.full(len(ranking), np.inf)
    since[ranking[:k]] = 0.0
    since[ranking[k]], until[ranking[k]] = begin, end
    return since, until


def _cheapest(problem: Problem, seconds: Floats, price: Floats) -> Ints:
    spent = np.where(np.isfinite(seconds), seconds, 0.0) * price / problem.worker_threads
    spent[~np.isfinite(seconds)] = np.inf
    return np.asarray(spent.argmin(axis=1), dtype=np.int64)


def _rankings(problem: Problem, seconds: Floats, price: Floats) -> Iterator[NDArray[np.int64]]:
    """Workers by the price of all work, and by its time; those that can do the most come first."""
    eligible = np.isfinite(seconds)
    absent = (~eligible).sum(axis=0)
    total = np.sum(seconds, axis=0, where=eligible) / problem.worker_threads
    for amount in (total * price, total):
        yield np.lexsort((amount, absent)).astype(np.int64)


def _ahead(seconds: Floats, chosen: frozenset[int]) -> Floats:
    ahead = np.full(seconds.shape, AVOID)
    ahead[:, sorted(chosen)] = 0.0
    return ahead
