"""Occupancy over time: how much of a worker's supply is taken, and where it is first too much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints

EXACT = 2.0**53
"""Whole numbers below are summed without rounding."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Amounts that are taken on workers from `start` to `end` (seconds), by the output or run of
    an assignment `row`."""

    row: Ints
    worker: Ints
    start: Floats
    end: Floats
    amount: Floats


@dataclass(frozen=True, slots=True)
class Excess:
    """Where a supply is first exceeded: the assignment whose claim does it, and the amounts."""

    row: int
    worker: int
    moment: float
    taken: float
    supply: float


def first_excess(claims: Claims, supply: Floats, eps: float) -> Excess | None:
    """The first moment at which the claims on a worker exceed its supply, or None.

    Each claim is taken to end `eps` earlier: rounding neither makes neighbours clash nor joins a
    row of short claims, and a claim not longer than `eps` occupies nothing. Whole amounts up to
    `EXACT` in all are summed exactly; others with a relative tolerance of 1e-9.

    Args:
        supply: (workers,) amount that each worker has.
    """
    keep = np.flatnonzero((claims.end - eps > claims.start) & (claims.amount > 0))
    if _all_at_once(claims, keep, supply) or _few_at_once(claims, keep, supply, eps):
        return None
    amount, row = claims.amount[keep], np.tile(claims.row[keep], 2)
    worker = np.tile(claims.worker[keep], 2)
    moment = np.concatenate([claims.end[keep] - eps, claims.start[keep]])
    # Releases stand first, and the sort is stable: at equal times they come before new claims.
    change = np.concatenate([-amount, amount])
    order = np.lexsort((moment, worker))
    exact = bool((amount == np.floor(amount)).all()) and float(amount.sum()) < EXACT
    taken = np.cumsum(change[order]) if exact else _sums(change[order], worker[order])
    limit = supply if exact else supply + 1e-9 * np.maximum(1.0, supply)
    over = np.flatnonzero(taken > limit[worker[order]])
    if not len(over):
        return None
    at = int(over[np.argmin(moment[order[over]])])
    event = int(order[at])
    place = int(worker[event])
    return Excess(
        row=int(row[event]),
        worker=place,
        moment=float(moment[event]),
        taken=float(taken[at]),
        supply=float(supply[place]),
    )


def _sums(change: Floats, worker: Ints) -> Floats:
    """Running sums of each worker's own, so that none has the rounding of another."""
    parts = np.split(change, np.flatnonzero(np.diff(worker)) + 1)
    return np.concatenate([np.cumsum(part) for part in parts])


def _all_at_once(claims: Claims, keep: Ints, supply: Floats) -> bool:
    """Would each worker's supply do for all of these claims together?"""
    total = np.bincount(claims.worker[keep], claims.amount[keep], len(supply))
    return bool((total <= supply).all())


def _few_at_once(claims: Claims, keep: Ints, supply: Floats, eps: float) -> bool:
    """Do the claims fit, as can be seen without going through the moments, since all are of one
    amount? They do if of so many as fit and one more, in the order of their starts, the last never
    starts before as many have ended as have to."""
    amount = claims.amount[keep]
    if (amount != amount[0]).any():
        return False
    for b in range(len(supply)):
        here = keep[claims.worker[keep] == b]
        fit = int(min(supply[b], amount[0] * len(here)) // amount[0])
        start, end = _ascending(claims.start[here]), _ascending(claims.end[here])
        if (start[fit:] < end[: len(here) - fit] - eps).any():
            return False
    return True


def _ascending(moments: Floats) -> Floats:
    """Sorted; of many equal tasks they mostly are."""
    return moments if (moments[1:] >= moments[:-1]).all() else np.sort(moments)


def highest(claims: Claims, eps: float) -> float:
    """The largest amount that is taken on any worker at any moment; `eps` as in `first_excess`."""
    keep = (claims.end - eps > claims.start) & (claims.amount > 0)
    amount, worker = claims.amount[keep], np.tile(claims.worker[keep], 2)
    moment = np.concatenate([claims.end[keep] - eps, claims.start[keep]])
    order = np.lexsort((moment, worker))
    taken = _sums(np.concatenate([-amount, amount])[order], worker[order])
    return float(taken.max(initial=0.0))


def join(*parts: Claims) -> Claims:
    """All claims together."""
    some = [part for part in parts if len(part.row)] or parts[:1]
    if len(some) == 1:
        return some[0]
    return Claims(
        *(
            np.concatenate([getattr(part, name) for part in some])
            for name in Claims.__dataclass_fields__
        )
    )
