"""A canonical order of a cluster's workers, by what they are and how they are linked.

The same idea as `symmetry.py`, on a complete graph with a link from each worker to each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.mixing import GOLDEN, Colours, combine, mix
from orchestrator_core.graph.task_graph import Ints

_EFFORT = 20_000_000
"""Links looked at before the rest is ordered as it was given."""


def canonical_order(colour: Colours, link: Colours) -> Ints:
    """(w,) the workers in an order that does not depend on their numbering.

    Args:
        colour: (w,) what is known of each worker by itself.
        link: (w, w) a colour for each link, source first.
    """
    effort = 0
    while True:
        colour, rounds = _refine(colour, link)
        effort += rounds * link.size
        chosen = _ambiguous(colour, link)
        if chosen is None or effort > _EFFORT:
            return np.argsort(colour, kind="stable").astype(np.int64)
        colour[chosen] = mix(colour[[chosen]] + np.uint64(GOLDEN))[0]


def _refine(colour: Colours, link: Colours) -> tuple[Colours, int]:
    """Colours that tell apart what the links tell apart, and in how many rounds."""
    classes, rounds = len(np.unique(colour)), 0
    while True:
        seen_out = mix(link + colour[None, :]).sum(axis=1, dtype=np.uint64)
        seen_in = mix(link.T + colour[None, :]).sum(axis=1, dtype=np.uint64)
        finer = combine(colour, seen_out, seen_in)
        rounds += 1
        found = len(np.unique(finer))
        if found == classes:
            return colour, rounds
        colour, classes = finer, found


def _ambiguous(colour: Colours, link: Colours) -> int | None:
    """A worker of the smallest colour whose workers' links differ; None if they all are alike."""
    order = np.argsort(colour, kind="stable")
    _, start, size = np.unique(colour[order], return_index=True, return_counts=True)
    sorted_links = link[np.ix_(order, order)]
    # A worker has no link to itself; let its own entry never be the one that differs.
    low, high = sorted_links.copy(), sorted_links.copy()
    np.fill_diagonal(low, np.iinfo(np.uint64).max)
    np.fill_diagonal(high, 0)
    lowest = _by_cells(low, start, np.minimum)
    highest = _by_cells(high, start, np.maximum)
    differ = (lowest < highest).any(axis=1) & (size > 1)
    if not differ.any():
        return None
    cell = int(np.argmin(np.where(differ, size, len(colour) + 1)))
    return int(order[start[cell]])


def _by_cells(matrix: Colours, start: NDArray[np.intp], take: np.ufunc) -> Colours:
    """The smallest or largest entry for each pair of cells."""
    rows = take.reduceat(matrix, start, axis=0)
    return np.asarray(take.reduceat(rows, start, axis=1), dtype=np.uint64)
