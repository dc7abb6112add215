"""List heuristics that look past a task's own end, with a table for each worker (stage 3)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.ranks import (
    chains_of,
    optimistic_cost,
    optimistic_cost_by_link,
    ready_order,
    upward_rank,
)
from orchestrator_core.plan.lists.means import mean_link, mean_seconds, without_noise
from orchestrator_core.plan.lists.rule import Rule, too_large

MOST_LINKS = 20_000_000
"""Most edges x workers x workers for tables that look at each link."""


def peft(problem: Problem) -> Iterator[Choice]:
    """Predict Earliest Finish Time: by, and looking ahead with, the optimistic cost table.

    H. Arabnejad, J. G. Barbosa: List scheduling algorithm for heterogeneous systems by an
    optimistic cost table. IEEE TPDS 25(3), 2014. A second choice has a table of the true links.
    """
    seconds = best_seconds(problem)
    yield _ahead(problem, optimistic_cost(problem, seconds, *mean_link(problem)))
    if _by_link(problem):
        yield _ahead(problem, optimistic_cost_by_link(problem, seconds))


def chains(problem: Problem) -> Iterator[Choice]:
    """Chains by rank, with and without transfers; each in one go, where it would end first.

    After the linear clustering of S. J. Kim, J. C. Browne: A general approach to mapping of
    parallel computation upon multiprocessor architectures. ICPP 1988. No chains, no choice.
    """
    head, rest = chains_of(problem, best_seconds(problem))
    if rest.any():
        far = 1e3 * float(np.where(np.isfinite(rest), rest, 0.0).max() + 1.0)
        ahead = np.where(np.isfinite(rest), rest, far)
        for link in (mean_link(problem), (0.0, 0.0)):
            rank = without_noise(upward_rank(problem, mean_seconds(problem), *link))
            order = ready_order(problem, rank)
            position = np.empty(problem.n_tasks, dtype=np.int64)
            position[order] = np.arange(problem.n_tasks)
            order = order[np.argsort(position[head[order]], kind="stable")]
            yield Choice(order, ahead=ahead)


def bil(problem: Problem) -> Iterator[Choice]:
    """Best Imaginary Level: the task whose k-th best worker is the worst, k tasks being ready.

    H. Oh, S. Ha: A static scheduling heuristic for heterogeneous processors. Euro-Par 1996. A
    task's level on a worker is its duration there and what the optimistic cost table says. It goes
    where its start and its level make the least; the paper, without transfers in its queues, takes
    the moment when the worker is free for its start.
    """
    if too_large(problem) or not _by_link(problem):
        return
    seconds = best_seconds(problem)
    level = seconds + optimistic_cost_by_link(problem, seconds)
    rank = np.where(np.isfinite(level), level, 0.0).max(axis=1)
    yield Rule(kth=1.0, begin=1.0, seconds=0.0).choice(problem, rank, level)


def _ahead(problem: Problem, table: Floats) -> Choice:
    return Choice(ready_order(problem, without_noise(table.mean(axis=1))), ahead=table)


def _by_link(problem: Problem) -> bool:
    return len(problem.in_task) * problem.n_workers**2 <= MOST_LINKS
