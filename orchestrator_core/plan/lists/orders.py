"""HEFT and its kin: all tasks by their upward rank, each where it ends first (stage 3).

They differ in what a task and a transfer count in the rank, while it is not known where they will
be. Each docstring names the paper. All list heuristics end in the same decoder, so that threads,
encoding, memory, resources, modes and releases are kept by each of them alike. Ties go to the task
that comes first in the topological order, and to the worker that comes first in the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.ranks import upward_rank
from orchestrator_core.plan.lists.means import (
    deviation_of_link,
    deviation_of_seconds,
    longest_seconds,
    mean_link,
    mean_seconds,
    near_link,
    without_noise,
)


def heft(problem: Problem) -> Iterator[Choice]:
    """Heterogeneous Earliest Finish Time: by upward rank of mean durations.

    H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-effective and low-complexity task scheduling for
    heterogeneous computing. IEEE TPDS 13(3), 2002.
    """
    yield _by_upward_rank(problem, mean_seconds(problem), mean_link(problem))


def heft_near(problem: Problem) -> Iterator[Choice]:
    """HEFT whose mean transfer counts that both tasks may be on one worker.

    SAGA's HEFT takes the mean over all links so, those of a worker to itself among them.
    """
    yield _by_upward_rank(problem, mean_seconds(problem), near_link(problem))


def heft_min(problem: Problem) -> Iterator[Choice]:
    """HEFT with each task's shortest duration.

    H. Zhao, R. Sakellariou: An experimental investigation into the rank function of the
    heterogeneous earliest finish time scheduling algorithm. Euro-Par 2003.
    """
    yield _by_upward_rank(problem, best_seconds(problem).min(axis=1), mean_link(problem))


def heft_max(problem: Problem) -> Iterator[Choice]:
    """HEFT with each task's longest duration (Zhao and Sakellariou, Euro-Par 2003)."""
    yield _by_upward_rank(problem, longest_seconds(problem), mean_link(problem))


def sdbats(problem: Problem) -> Iterator[Choice]:
    """HEFT with the standard deviations of durations and transfers: first, what differs most.

    E. U. Munir, S. Mohsin, A. Hussain, M. W. Nisar, S. Ali: SDBATS: a novel algorithm for task
    scheduling in heterogeneous computing systems. IPDPS workshops 2013. A rank of deviations may
    fall behind a consumer's where nothing deviates: the mean counts a thousandth beside it.
    """
    little = 1e-3
    seconds = deviation_of_seconds(problem) + little * mean_seconds(problem)
    latency, per_byte = deviation_of_link(problem)
    mean = mean_link(problem)
    link = (latency + little * mean[0], per_byte + little * mean[1])
    yield _by_upward_rank(problem, seconds, link)


def _by_upward_rank(problem: Problem, seconds: Floats, link: tuple[float, float]) -> Choice:
    rank = upward_rank(problem, seconds, *link)
    position = np.empty(problem.n_tasks, dtype=np.int64)
    position[problem.topological] = np.arange(problem.n_tasks)
    return Choice(np.lexsort((position, -without_noise(rank))).astype(np.int64))
