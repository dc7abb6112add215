"""Dynamic list heuristics: what is next depends on all that was placed before (stage 3)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem, frozen
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.ranks import upward_rank
from orchestrator_core.plan.lists.bmct import by_groups
from orchestrator_core.plan.lists.means import mean_link, mean_seconds
from orchestrator_core.plan.lists.orders import heft
from orchestrator_core.plan.lists.rule import Rule, too_large

MOST_LANES = 128
"""`hbmct` balances at most this many threads."""

MIN_MIN = Rule(finish=-1.0)
MAX_MIN = Rule(finish=1.0)
SUFFERAGE = Rule(finish=-1.0, second=1.0)


def min_min(problem: Problem) -> Iterator[Choice]:
    """Min-Min: the ready task that can end first.

    O. H. Ibarra, C. E. Kim: Heuristic algorithms for scheduling independent tasks on nonidentical
    processors. J. ACM 24(2), 1977. Once over all ready tasks, once batch by batch.
    """
    yield from _both(problem, MIN_MIN)


def max_min(problem: Problem) -> Iterator[Choice]:
    """Max-Min: the ready task that, where it ends first, ends last (Ibarra and Kim, 1977)."""
    yield from _both(problem, MAX_MIN)


def sufferage(problem: Problem) -> Iterator[Choice]:
    """Sufferage: the ready task that would suffer most from its second best worker.

    M. Maheswaran, S. Ali, H. J. Siegel, D. Hensgen, R. F. Freund: Dynamic mapping of a class of
    independent tasks onto heterogeneous computing systems. JPDC 59(2), 1999.
    """
    yield from _both(problem, SUFFERAGE)


def etf(problem: Problem) -> Iterator[Choice]:
    """Earliest Task First: the ready task and worker with the earliest start; ties by rank.

    J.-J. Hwang, Y.-C. Chow, F. D. Anger, C.-Y. Lee: Scheduling precedence graphs in systems with
    interprocessor communication times. SIAM J. Computing 18(2), 1989.
    """
    if not too_large(problem):
        yield Rule(start=-1.0, seconds=0.0).choice(problem, _rank(problem))


def flb(problem: Problem) -> Iterator[Choice]:
    """Fast Load Balancing: as ETF, on the worker that is free first or has the last input.

    A. Radulescu, A. J. C. van Gemund: FLB: fast load balancing for distributed-memory machines.
    ICPP 1999.
    """
    if not too_large(problem):
        rule = Rule(start=-1.0, seconds=0.0, two_workers=True)
        yield rule.choice(problem, _rank(problem))


def dls(problem: Problem) -> Iterator[Choice]:
    """Dynamic Level Scheduling: the ready task of the highest level, less its end there.

    G. C. Sih, E. A. Lee: A compile-time scheduling heuristic for interconnection-constrained
    heterogeneous processor architectures. IEEE TPDS 4(2), 1993 (SAGA's GDL). The level is that of
    mean durations; a worker's advantage over the mean turns the start in it into the end.
    """
    if not too_large(problem):
        mean = mean_seconds(problem)
        level = upward_rank(problem, mean, 0.0, 0.0)
        yield Rule(priority=1.0, finish=-1.0).choice(problem, level + mean)


def wba(problem: Problem) -> Iterator[Choice]:
    """Workflow-based: what makes the makespan grow least, of those the task of the highest rank.

    J. Blythe, S. Jain, E. Deelman, Y. Gil, K. Vahi, A. Mandal, K. Kennedy: Task scheduling
    strategies for workflow-based applications in grids. CCGrid 2005; there a random one of those
    that make it grow little.
    """
    if not too_large(problem):
        yield Rule(finish=-1.0, from_makespan=True).choice(problem, _rank(problem))


def hbmct(problem: Problem) -> Iterator[Choice]:
    """Hybrid BMCT: groups of independent tasks by rank, each balanced between the workers.

    R. Sakellariou, H. Zhao: A hybrid heuristic for DAG scheduling on heterogeneous systems. IPDPS
    2004.
    """
    threads = np.minimum(problem.worker_threads, problem.n_tasks)
    if threads.sum() <= MOST_LANES:
        owner = np.repeat(np.arange(problem.n_workers, dtype=np.int64), threads)
        order = frozen(next(heft(problem)).order)
        order, worker = by_groups(problem, best_seconds(problem), frozen(owner), order)
        yield Choice(order, worker=worker)


def _both(problem: Problem, rule: Rule) -> Iterator[Choice]:
    if not too_large(problem):
        rank = _rank(problem)
        yield rule.choice(problem, rank)
        yield rule.batched().choice(problem, rank)


def _rank(problem: Problem) -> Floats:
    return upward_rank(problem, mean_seconds(problem), *mean_link(problem))
