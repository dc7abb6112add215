"""Prices: what a second of a worker is worth, where tasks choose the cheapest one (stage 3).

A task costs at least what it takes where it is cheapest, so that any prices prove something. The
best ones are the multipliers of a linear program; these here come near in a few steps, however many
tasks and workers there are: a worker's price is its speed, raised where too much is cheapest.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats

STEPS = 8
"""Prices that are tried."""

EQUAL = 1e-9
"""Relative difference up to which a task costs the same on two workers, and is shared by them."""


def priced(seconds: Floats, price: Floats) -> Floats:
    """`seconds` (n, w) times the price of each worker; infinity where a task may not run."""
    eligible = np.isfinite(seconds)
    return np.where(eligible, np.where(eligible, seconds, 0.0) * price, np.inf)


def by_speed(seconds: Floats, supply: Floats) -> Floats:
    """(w,) prices by how fast each worker is beside the others, where both can run a task.

    Args:
        seconds: (n, w) of some tasks. supply: (w,) what each worker has, > 0; at these prices that
            of all together is worth 1.
    """
    finite = np.isfinite(seconds) & (seconds > 0)
    log = np.log(np.where(finite, seconds, 1.0))
    each = np.maximum(finite.sum(axis=1), 1)
    apart = np.where(finite, log - (log.sum(axis=1) / each)[:, None], 0.0)
    slowness = apart.sum(axis=0) / np.maximum(finite.sum(axis=0), 1)
    return _normal(np.exp(-slowness), supply)


def raised(at_prices: Floats, price: Floats, supply: Floats, step: int) -> Floats:
    """Dearer where more than the mean is cheapest, by a power of how much more; less and less from
    step to step.

    Args:
        at_prices: (n, w) what some tasks cost at the prices.
    """
    cheapest = at_prices.min(axis=1)
    cheapest = np.where(np.isfinite(cheapest), cheapest, 0.0)
    shared = at_prices <= cheapest[:, None] * (1 + EQUAL)
    part = cheapest / np.maximum(shared.sum(axis=1), 1)
    load = (part @ shared) / (price * supply)
    mean = float(load.sum()) / len(load)
    if mean <= 0:
        return price
    return _normal(price * np.maximum(load / mean, 0.25) ** (0.5 / (1 + step)), supply)


def by_steps(seconds: Floats, amount: Floats, supply: Floats) -> Floats:
    """(w,) the best of some prices: those at which the tasks cost the most.

    Args:
        amount: (n,) what each task takes of a worker while it runs.
    """
    work, price = seconds * amount[:, None], by_speed(seconds, supply)
    best, most = price, -np.inf
    for step in range(STEPS):
        at_prices = priced(work, price)
        cost = float(at_prices.min(axis=1).sum())
        if cost > most:
            best, most = price, cost
        price = raised(at_prices, price, supply, step)
    return best


def _normal(price: Floats, supply: Floats) -> Floats:
    normal: Floats = price / float(price @ supply)
    return normal
