"""Loads: what the rows of the window program say of one placement, each for itself (stage 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds.claims import WINDOW
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import State
from orchestrator_core.plan.bounds.windows import Claims


class Load(NamedTuple):
    """No schedule is shorter than `least` and the prices of all tasks where they run, added up.

    Attributes:
        least: seconds. price: (n, w) seconds, 0 where a task may not run.
    """

    least: float
    price: Floats


def loads(
    relaxation: Relaxation, state: State, claims: Claims, known: float
) -> tuple[Load, ...]:  # fmt: skip
    """All rows that count, added up by their multipliers, then one by one.

    The sum is the bound of the program, so whatever is dearer than the cheapest worker of a task
    takes that much from what is left up to the makespan that is sought.

    Args:
        claims: of the program of all tasks in this state, none of them rounded. known: seconds
            that it was given.
    """
    counts = np.flatnonzero(claims.multiplier > 1e-9)
    rows = [_row(relaxation, state, claims, int(k), known) for k in counts]
    weights = claims.multiplier[counts]
    least = max(0.0, 1.0 - float(weights.sum())) * known
    price = np.zeros(state.may.shape)
    for weight, row in zip(weights.tolist(), rows, strict=True):
        least += weight * row.least
        price += weight * row.price
    return (Load(least, price), *rows)


def _row(relaxation: Relaxation, state: State, claims: Claims, k: int, known: float) -> Load:
    what, first, worker = claims.what[k].tolist()
    price = np.zeros(state.may.shape)
    if what != WINDOW:
        price[first] = np.where(state.may[first], state.through(relaxation)[first], 0.0)
        return Load(0.0, price)
    since, until, _ = claims.span[k].tolist()
    inside = (state.head[:, worker] >= since) & (state.tail[:, worker] >= until)
    inside &= state.may[:, worker] & state.active
    price[inside, worker] = relaxation.work[first, inside, worker]
    return Load(min(known, since + until), price)
