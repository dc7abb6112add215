"""Relaxation: what all bounds see of a problem (stage 3).

Modes are relaxed to the shortest duration and the least work on each worker, memory and stock are
left out, and a resource is a capacity like threads. Whatever holds for this problem holds for the
whole one; pauses at checkpoints are allowed by every rule that is built on it, since none of them
asks that a task runs in one piece.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.expand import Problem, frozen
from orchestrator_core.plan.engine.modes import best_seconds, over_modes

MOST_WORK = 8_000_000
"""Numbers that tell the work of all kinds; resources for which there is no room are left out."""


class Side(NamedTuple):
    """The graph as seen in one direction of time; backward, consumers come before producers.

    Attributes:
        order: (n,) tasks, each after all those before it.
        ptr, before: the tasks directly before t are ``before[ptr[t] : ptr[t + 1]]``.
        part, whole: (e,) bytes that travel, and bytes that are encoded first.
        pair: (e,) number of an edge's producer and consumer, the same in both directions.
        latency, per_byte, encode: (w, w) from the worker of `before` to that of t.
        least: (3, w) the least of each of these to a worker from another one.
    """

    order: Ints
    ptr: Ints
    before: Ints
    pair: Ints
    part: Floats
    whole: Floats
    latency: Floats
    per_byte: Floats
    encode: Floats
    least: Floats


class Relaxation(NamedTuple):
    """The arrays of one problem.

    Attributes:
        seconds: (n, w) shortest duration, infinity where a task may not run.
        work: (kinds, n, w) seconds for which a task alone would take all of a worker's threads
            (kind 0) or all of a resource (the others, by name, up to `MOST_WORK`), at least;
            infinity as above.
        release, deadline: (n,) seconds.
    """

    seconds: Floats
    work: Floats
    release: Floats
    deadline: Floats
    forward: Side
    backward: Side

    @property
    def n_pairs(self) -> int:
        """How many different pairs of a producer and a consumer there are."""
        return int(self.forward.pair.max(initial=-1)) + 1

    @staticmethod
    def of(problem: Problem) -> Relaxation:
        """Of this problem; O(tasks x workers + edges)."""
        dates = (problem.release, problem.deadline)
        return Relaxation(best_seconds(problem), _work(problem), *dates, *_sides(problem))


def shares(problem: Problem) -> list[Floats]:
    """(m, w) the part of a worker's threads, and of each resource for which there is room, that a
    mode takes; without meaning where it may not run."""
    found = [problem.threads[:, None] / problem.worker_threads]
    kinds = MOST_WORK // max(1, problem.seconds.size, problem.n_tasks * problem.n_workers)
    for d in range(min(problem.demand.shape[1], kinds - 1)):
        # Where a mode may run, the supply suffices; elsewhere the quotient is not looked at.
        supply = np.maximum(problem.supply[:, d], 1e-300)
        found.append(problem.demand[:, d : d + 1] / supply)
    return found


def _work(problem: Problem) -> Floats:
    eligible = np.isfinite(problem.seconds)
    lasting = np.where(eligible, problem.seconds, 0.0)
    each = [
        np.where(eligible, lasting * np.where(eligible, s, 0.0), np.inf) for s in shares(problem)
    ]
    return frozen(np.stack([over_modes(problem, np.minimum, kind) for kind in each]))


def _sides(p: Problem) -> tuple[Side, Side]:
    producer = np.repeat(np.arange(p.n_tasks), np.diff(p.out_ptr))
    into = frozen(p.output_bytes[p.in_task])
    out_of = frozen(p.output_bytes[producer])
    links = (p.latency, p.per_byte, p.encode)
    back = (frozen(p.latency.T), frozen(p.per_byte.T), frozen(p.encode.T))
    order = frozen(p.topological[::-1])
    ahead, behind = _pairs(p, producer)
    return (
        Side(p.topological, p.in_ptr, p.in_task, ahead, p.in_bytes, into, *links, _least(links)),
        Side(order, p.out_ptr, p.out_task, behind, p.out_bytes, out_of, *back, _least(back)),
    )


def _least(links: tuple[Floats, ...]) -> Floats:
    """(links, w) the least entry of each column, but for the diagonal; 0 for a single worker."""
    away = ~np.eye(len(links[0]), dtype=np.bool_)
    least = [each.min(axis=0, where=away, initial=float(each.max())) for each in links]
    return frozen(np.stack(least))


def _pairs(p: Problem, producer: Ints) -> tuple[Ints, Ints]:
    """(e,) the number of each edge's producer and consumer, by consumer and by producer."""
    consumer = np.repeat(np.arange(p.n_tasks), np.diff(p.in_ptr))
    different, ahead = np.unique(p.in_task * p.n_tasks + consumer, return_inverse=True)
    return frozen(ahead), frozen(np.searchsorted(different, producer * p.n_tasks + p.out_task))
