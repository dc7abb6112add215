"""Work in windows at prices of workers: a bound by a few passes over the numbers (stage 3).

A second of a thread has a price on each worker, all threads together 1. A task then costs at least
what it takes where it is cheapest, and what tasks cost that run in some time is no more than that
time. So any prices prove something; the best ones solve the relaxation of R||Cmax by J. K. Lenstra,
D. B. Shmoys and E. Tardos (1990), and these here come near: a worker's price is its speed, raised
where too much is cheapest. Tasks that can begin only after a head and are followed by a tail have
to run between both, for any pair of them (J. Carlier, The one-machine sequencing problem, 1982).
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds.area import priced
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import over_modes

STEPS, CELLS = 24, 2_000_000
"""Prices that are tried, and tasks x workers that are looked at for all of them together."""

SAMPLE = 20_000
"""Modes by which prices are chosen, and that are looked at together."""

LEVELS = 64
"""Heads, and tails, that are told apart."""


def priced_windows(problem: Problem, head: Floats, tail: Floats) -> float:
    """Seconds that any schedule takes.

    Args:
        head, tail: (n,) seconds that pass before each task starts, and after it ends, at least.
    """
    sample = np.unique(np.linspace(0, len(problem.seconds) - 1, SAMPLE).astype(np.int64))
    work = problem.seconds[sample] * problem.threads[sample, None]
    steps = max(1, min(STEPS, CELLS // max(1, problem.seconds.size)))
    price = _by_speed(problem, problem.seconds[sample])
    best = 0.0
    for step in range(steps):
        best = max(best, _in_windows(_costs(problem, price), head, tail))
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


def _in_windows(costs: Floats, head: Floats, tail: Floats) -> float:
    """The most, over pairs of a head and a tail, of both and the costs of the tasks between."""
    heads, tails = _levels(head), _levels(tail)
    at = np.searchsorted(heads, head, side="right") - 1
    to = np.searchsorted(tails, tail, side="right") - 1
    cell = at * len(tails) + to
    table = np.bincount(cell, costs, len(heads) * len(tails)).reshape(len(heads), len(tails))
    between = table[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    some = between > 0
    return float(np.where(some, heads[:, None] + tails + between, 0.0).max(initial=0.0))


def _levels(values: Floats) -> Floats:
    """Some of the values, ascending, the least first."""
    different = np.unique(values)
    if len(different) <= LEVELS:
        return different
    return different[np.linspace(0, len(different) - 1, LEVELS).astype(np.int64)]
