"""Attempt: to show, a few nodes at a time, that no schedule is shorter than a limit (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.certificate import Refutation
from orchestrator_core.plan.bounds.cuts.descent import (
    CONTRADICTION,
    DECIDED,
    FULL,
    GOES_ON,
    REFUTED,
    Descent,
    descend,
)
from orchestrator_core.plan.bounds.cuts.node import Node, Terms, ancestors, bytes_each, nodes
from orchestrator_core.plan.bounds.relaxation import Relaxation, Side
from orchestrator_core.plan.bounds.state import DEADLINE_SLACK, ROUNDING, State, tightened

DEPTH = 64
"""Open nodes that there is room for at first."""

MOST_BYTES = 200_000_000
"""Of open nodes."""

ROWS, MOST_ROWS = 4_096, 400_000
"""Of the record, at first and at most."""

FIRST_GUESS = 1e-3
"""The credit of an edge with the longest transfer, before anything is learnt."""

OF_A_WORKER = 1e-6
"""The same of a task on a worker."""


class Attempt:
    """One limit.

    Attributes:
        limit: seconds. status: as in `descent.py`.
    """

    def __init__(
        self, relaxation: Relaxation, terms: Terms, state: State, limit: float, credit: Floats
    ) -> None:
        self.limit, self.status, self._terms = limit, GOES_ON, terms
        self._target = limit * (1 - ROUNDING)
        self._slack = DEADLINE_SLACK * limit
        inside = state.copy()
        inside.upper = limit
        tight = tightened(relaxation, inside)
        n, w = state.may.shape
        pairs = relaxation.n_pairs
        self._most = MOST_BYTES // bytes_each(n, w, pairs)
        self._descent = Descent(
            nodes(min(DEPTH, self._most), n, w, pairs),
            nodes(4, n, w, pairs),
            credit,
            ends_of(relaxation.forward),
            np.empty((ROWS, 3), dtype=np.int32),
            np.zeros(4, dtype=np.int64),
        )
        if tight is None:
            self.status = REFUTED
            self._descent.record[0], self._descent.at[2] = (CONTRADICTION, 0, 0), 1
            return
        root = self._descent.stack
        root.head[0], root.tail[0], root.may[0] = tight.head, tight.tail, tight.may
        root.sooner[0] = ancestors(relaxation.forward)

    @property
    def nodes(self) -> int:
        """How many were looked at."""
        return self._at(1)

    def go_on(self, most: int) -> None:
        """Look at `most` nodes more, about."""
        self.status = descend(self._terms, self._descent, self._target, self._slack, most)
        if self.status == FULL:
            self._enlarge()

    def placed(self) -> tuple[Ints, Floats]:
        """(n,) worker and start of each task in the node in which all is decided."""
        assert self.status == DECIDED
        top, each = self._at(0), np.arange(len(self._terms.seconds))
        worker = np.argmax(self._descent.stack.may[top], axis=1)
        return worker, self._descent.stack.head[top][each, worker]

    def refutation(self) -> Refutation:
        """Why no schedule is shorter than the limit."""
        assert self.status == REFUTED
        rows = self._descent.record[: self._at(2)].tolist()
        return Refutation(float(self.limit), tuple((a, b, c) for a, b, c in rows))

    def _at(self, k: int) -> int:
        return int(self._descent.at[k])

    def _enlarge(self) -> None:
        """Twice the room, unless that is too much: then the attempt ends as FULL."""
        d = self._descent
        depth, rows = 2 * len(d.stack.head), 2 * len(d.record)
        if depth > self._most or rows > MOST_ROWS:
            return
        larger = Node(*(np.concatenate([each, np.zeros_like(each)]) for each in d.stack))
        record = np.concatenate([d.record, np.empty_like(d.record)])
        self._descent = d._replace(stack=larger, record=record)
        self.status = GOES_ON


def ends_of(side: Side) -> Ints:
    """(pairs, 2) producer and consumer of each pair."""
    ends = np.zeros((int(side.pair.max(initial=-1)) + 1, 2), dtype=np.int64)
    ends[side.pair, 0] = side.before
    ends[side.pair, 1] = np.repeat(np.arange(len(side.order)), np.diff(side.ptr))
    return ends


def first_credit(relaxation: Relaxation) -> Floats:
    """(2, decisions) before anything is learnt: edges by how long their transfers are."""
    side, (n, w) = relaxation.forward, relaxation.seconds.shape
    apart, way = ~np.eye(w, dtype=bool), np.zeros(relaxation.n_pairs)
    if w > 1:
        per_byte, encode = np.median(side.per_byte[apart]), np.median(side.encode[apart])
        np.maximum.at(way, side.pair, side.part * per_byte + side.whole * encode)
    gain = np.full(len(way) + n * w, OF_A_WORKER)
    if way.max(initial=0.0) > 0:
        gain[: len(way)] = FIRST_GUESS * way / way.max()
    return np.stack([gain, np.ones_like(gain)])
