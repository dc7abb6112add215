"""Work in windows at prices of workers: a bound by a few passes over the numbers (stage 3).

A second of a thread has a price on each worker, all threads together 1. A task then costs at least
what it takes where it is cheapest, and what tasks cost that run in some time is no more than that
time. So any prices prove something; the best ones solve the relaxation of R||Cmax by J. K. Lenstra,
D. B. Shmoys and E. Tardos (1990), and those of `prices.py` come near. A resource is shared like
threads, by the tasks that take some of it. Tasks that can begin only after a head and are followed
by a tail have to run between both, for any pair of them (J. Carlier, The one-machine sequencing
problem, 1982).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.prices import STEPS, by_speed, priced, raised
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import over_modes

CELLS = 2_000_000
"""Durations or single tasks looked at for all prices of one kind together."""

SAMPLE = 20_000
"""Modes by which prices are chosen, and that are looked at together."""

LEVELS = 64
"""Heads, and tails, that are told apart."""

MOST_RESOURCES = 8
"""Resources that are looked at: those that tasks ask the most of, beside what there is."""


class Window(NamedTuple):
    """Some of the tasks have to run between a head and a tail.

    Attributes:
        seconds: how long it all takes: the head, what the tasks cost, and the tail. head, tail:
            what begins no sooner, and is followed by no less, is in it.
    """

    seconds: float
    head: float
    tail: float


class Kind(NamedTuple):
    """What tasks take of workers while they run: threads, or a resource.

    Attributes:
        mode: (k,) the modes that take some. worker: (v,) the workers that have some.
        seconds: (k, v) of these. amount: (k,) what a mode takes, > 0. supply: (v,) > 0.
    """

    mode: Ints
    worker: Ints
    seconds: Floats
    amount: Floats
    supply: Floats


def priced_windows(problem: Problem, head: Floats, tail: Floats) -> float:
    """Seconds that any schedule takes.

    Args:
        head, tail: (n,) seconds that pass before each task starts, and after it ends, at least.
    """
    return fullest_window(problem, head, tail, np.arange(problem.n_tasks)).seconds


def fullest_window(problem: Problem, head: Floats, tail: Floats, tasks: Ints) -> Window:
    """That which proves most, of some of the tasks.

    Args:
        head, tail: as in `priced_windows`, of these tasks.
    """
    windows, best = _Windows.of(head, tail), Window(0.0, 0.0, 0.0)
    for kind in _kinds(problem):
        sample = np.unique(np.linspace(0, len(kind.mode) - 1, SAMPLE).astype(np.int64))
        seconds, amount = kind.seconds[sample], kind.amount[sample]
        work, price = seconds * amount[:, None], by_speed(seconds, kind.supply)
        for step in range(max(1, min(STEPS, CELLS // max(1, kind.seconds.size, len(tasks))))):
            best = max(best, windows.fullest(_costs(problem, kind, price)[tasks]))
            price = raised(priced(work, price), price, kind.supply, step)
    return best


def _kinds(problem: Problem) -> Iterator[Kind]:
    """Threads, then the resources that are the most scarce."""
    m, w = problem.seconds.shape
    amount, supply = (each.astype(np.float64) for each in (problem.threads, problem.worker_threads))
    yield Kind(np.arange(m), np.arange(w), problem.seconds, amount, supply)
    least = problem.seconds.min(axis=1)
    asked = np.where(np.isfinite(least), least, 0.0) @ problem.demand
    have = problem.supply.sum(axis=0)
    busy = np.divide(asked, have, out=np.zeros_like(asked), where=have > 0)
    for d in np.argsort(-busy, kind="stable")[:MOST_RESOURCES].tolist():
        mode = np.flatnonzero(problem.demand[:, d] > 0)
        worker = np.flatnonzero(problem.supply[:, d] > 0)
        if busy[d] > 0:
            seconds = problem.seconds[np.ix_(mode, worker)]
            yield Kind(mode, worker, seconds, problem.demand[mode, d], problem.supply[worker, d])


def _costs(problem: Problem, kind: Kind, price: Floats) -> Floats:
    """(n,) what each task costs where it is cheapest."""
    nowhere = np.isinf(problem.seconds.min(axis=1))
    cheapest = np.where(nowhere, np.inf, 0.0)
    for first in range(0, len(kind.mode), SAMPLE):
        rows = slice(first, first + SAMPLE)
        least = priced(kind.seconds[rows], price).min(axis=1)
        cheapest[kind.mode[rows]] = least * kind.amount[rows]
    return over_modes(problem, np.minimum, cheapest)


class _Windows(NamedTuple):
    """Some heads and tails, and for each task the cell of the table of both that it is in.

    Attributes:
        heads, tails: ascending. cell: (n,) ``head * len(tails) + tail``, as positions.
    """

    heads: Floats
    tails: Floats
    cell: Ints

    @staticmethod
    def of(head: Floats, tail: Floats) -> _Windows:
        heads, tails = _levels(head), _levels(tail)
        at = np.searchsorted(heads, head, side="right") - 1
        to = np.searchsorted(tails, tail, side="right") - 1
        return _Windows(heads, tails, at * len(tails) + to)

    def fullest(self, costs: Floats) -> Window:
        """The most, over pairs of a head and a tail, of both and the costs of the tasks between."""
        shape = len(self.heads), len(self.tails)
        table = np.bincount(self.cell, costs, shape[0] * shape[1]).reshape(shape)
        between = table[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
        sums = np.where(between > 0, self.heads[:, None] + self.tails + between, 0.0)
        if sums.size == 0:
            return Window(0.0, 0.0, 0.0)
        i, j = np.unravel_index(int(sums.argmax()), shape)
        return Window(float(sums[i, j]), float(self.heads[i]), float(self.tails[j]))


def _levels(values: Floats) -> Floats:
    """Some of the values, ascending, the least first."""
    different = np.unique(values)
    if len(different) <= LEVELS:
        return different
    return different[np.linspace(0, len(different) - 1, LEVELS).astype(np.int64)]
