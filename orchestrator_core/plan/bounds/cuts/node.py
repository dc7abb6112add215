"""Node: what is decided in one case of the tree of cuts, and what follows from it (stage 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds.relaxation import Relaxation, Side
from orchestrator_core.plan.bounds.sweep import Choices, Flags


class Node(NamedTuple):
    """One case; or, with one dimension more in front, several.

    Attributes:
        head, tail, may: (n, w) as in `State`.
        edge: (pairs,) OPEN, KEPT or CUT.
        sooner: (n, n) does the first task end before the second starts?
    """

    head: Floats
    tail: Floats
    may: Flags
    edge: Choices
    sooner: Flags


class Terms(NamedTuple):
    """What all nodes share.

    Attributes:
        forward, backward: see `Side`. seconds, work, deadline: see `Relaxation`.
        alone: (n, n) tasks that cannot run at the same time on any one worker.
        active: (n,) all of them.
    """

    forward: Side
    backward: Side
    seconds: Floats
    work: Floats
    deadline: Floats
    alone: Flags
    active: Flags


def terms_of(relaxation: Relaxation, alone: Flags) -> Terms:
    """Of this problem; `alone`: see `Terms`."""
    r, everyone = relaxation, np.ones(len(relaxation.seconds), dtype=np.bool_)
    return Terms(r.forward, r.backward, r.seconds, r.work, r.deadline, alone, everyone)


def nodes(many: int, n: int, w: int, pairs: int) -> Node:
    """Room for so many."""
    return Node(
        np.zeros((many, n, w)),
        np.zeros((many, n, w)),
        np.zeros((many, n, w), dtype=np.bool_),
        np.zeros((many, pairs), dtype=np.int8),
        np.zeros((many, n, n), dtype=np.bool_),
    )


def bytes_each(n: int, w: int, pairs: int) -> int:
    """What one takes."""
    return 17 * n * w + pairs + n * n


def ancestors(side: Side) -> Flags:
    """(n, n) does the graph let the first task end before the second starts?"""
    n = len(side.order)
    found = np.zeros((n, n), dtype=np.bool_)
    for t in side.order.tolist():
        before = side.before[side.ptr[t] : side.ptr[t + 1]]
        found[before, t] = True
        found[:, t] |= found[:, before].any(axis=1)
    return found
