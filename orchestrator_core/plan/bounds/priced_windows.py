"""Work in windows at prices of workers: a bound by a few passes over the numbers (stage 3).

A second of a thread has a price on each worker, all threads together 1. A task then costs at least
what it takes where it is cheapest, and what tasks cost that run in some time is no more than that
time. So any prices prove something; the best ones solve the relaxation of R||Cmax by J. K. Lenstra,
D. B. Shmoys and E. Tardos (1990), and these here come near: a worker's price is its speed, raised
where too much is cheapest. Tasks that can begin only after a head and are followed by a tail have
to run between both, for any pair of them (J. Carlier, The one-machine sequencing problem, 1982).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.area import priced
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import over_modes

STEPS, CELLS = 8, 2_000_000
"""Prices that are tried, and durations or single tasks looked at for all of them together."""

SAMPLE = 20_000
"""Modes by which prices are chosen, and that are looked at together."""

LEVELS = 64
"""Heads, and tails, that are told apart."""


class Window(NamedTuple):
    """Some of the tasks have to run between a head and a tail.

    Attributes:
        seconds: how long it all takes: the head, what the tasks cost, and the tail. head, tail:
            what begins no sooner, and is followed by no less, is in it.
    """

    seconds: float
    head: float
    tail: float


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
    sample = np.unique(np.linspace(0, len(problem.seconds) - 1, SAMPLE).astype(np.int64))
    work = problem.seconds[sample] * problem.threads[sample, None]
    looks = max(1, problem.seconds.size, problem.n_tasks)
    steps = max(1, min(STEPS, CELLS // looks))
    price = _by_speed(problem, problem.seconds[sample])
    windows = _Windows.of(head, tail)
    best = Window(0.0, 0.0, 0.0)
    for step in range(steps):
        best = max(best, windows.fullest(_costs(problem, price)[tasks]))
        price = _raised(problem, price, priced(work, price), 0.5 / (1 + step))
    return best


def _costs(problem: Problem, price: Floats) -> Floats:
    """(n,) what each task costs where it is cheapest."""
    cheapest = np.empty(len(problem.seconds))
    for first in range(0, len(cheapest), SAMPLE):
        rows = slice(first, first + SAMPLE)
        cheapest[rows] = priced(problem.seconds[rows], price).min(axis=1) * problem.threads[rows]
    return over_modes(problem, np.minimum, np.where(np.isfinite(cheapest), cheapest, 0.0))


def _by_speed(problem: Problem, seconds: Floats) -> Floats:
    """(w,) prices by how fast each worker is beside the others, where both can run a mode."""
    finite = np.isfinite(seconds) & (seconds > 0)
    log = np.log(np.where(finite, seconds, 1.0))
    each = np.maximum(finite.sum(axis=1), 1)
    apart = np.where(finite, log - (log.sum(axis=1) / each)[:, None], 0.0)
    slowness = apart.sum(axis=0) / np.maximum(finite.sum(axis=0), 1)
    return _normal(problem, np.exp(-slowness))


def _raised(problem: Problem, price: Floats, at_prices: Floats, by: float) -> Floats:
    """Dearer where more than the mean is cheapest, by a power of how much more."""
    where = at_prices.argmin(axis=1)
    costs = np.take_along_axis(at_prices, where[:, None], axis=1)[:, 0]
    finite = np.isfinite(costs)
    load = np.bincount(where[finite], costs[finite], len(price)) / (price * problem.worker_threads)
    mean = float(load.sum()) / len(load)
    if mean <= 0:
        return price
    return _normal(problem, price * np.maximum(load / mean, 0.25) ** by)


def _normal(problem: Problem, price: Floats) -> Floats:
    normal: Floats = price / float(price @ problem.worker_threads)
    return normal


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
