"""Branch and bound on where the hubs run (stage 3).

The window program splits each task over all workers, and so pays for no transfer. Once the task
with the most bytes around it is fixed, what it sends and receives counts, and its cone is worth
more. So each node of the tree fixes one more task, the one with the most transfer around it; the
smallest bound of the open nodes holds at any moment.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds.cone import Cone
from orchestrator_core.plan.bounds.leaf import Leaf, settle
from orchestrator_core.plan.bounds.looks import Look, count, pack
from orchestrator_core.plan.bounds.raising import fixed, raised
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import ROUNDING, State, tightened

TRIES = 3
"""How often the head of a fixed task is tried to be larger."""

COUNTS_OF_A_CASE = 4
"""Guesses by which room is measured in each case."""

PACKINGS_OF_A_CASE = 2
"""Limits that are tried in each case."""

MOST_BYTES = 400_000_000
"""Of open nodes; beyond, the tree grows no more."""


class Tree:
    """The cases of one argument.

    Attributes:
        upper: seconds; cases whose bound reaches it are settled. It may be lowered meanwhile.
        nodes: how many cases were looked at.
    """

    def __init__(self, relaxation: Relaxation, root: Leaf, upper: float) -> None:
        self.relaxation, self.root, self.upper = relaxation, root, upper
        self.nodes = 0
        self.importance = transfer_around(relaxation)
        self._open: list[tuple[float, int, Leaf]] = [(root.value, 0, root)]
        self._settled = np.inf
        self._looks = (Look(count, COUNTS_OF_A_CASE), Look(pack, PACKINGS_OF_A_CASE))
        seconds = relaxation.seconds
        self._most_open = max(64, MOST_BYTES // (seconds.size * 17 + 1))

    @property
    def bound(self) -> float:
        """Seconds that no schedule is shorter than."""
        lowest = self._open[0][0] if self._open else np.inf
        return float(min(self.upper, self._settled, lowest))

    @property
    def ended(self) -> bool:
        """Is there nothing left that could raise the bound?"""
        if not self._open or len(self._open) > self._most_open:
            return True
        return self._open[0][0] >= min(self._settled, self.upper * (1 - ROUNDING))

    def grow(self) -> Iterator[Leaf]:
        """Look at all cases of the most promising leaf, one after the other; but first, since that
        takes several times as long, whether whole tasks fit there."""
        value, _, leaf = self._open[0]
        state = leaf.state
        assert state is not None
        while leaf.looks < len(self._looks):
            state.upper = min(self.upper, state.upper)
            for _ in self._looks[leaf.looks].at(self.relaxation, leaf):
                yield leaf
            if leaf.value > value:
                self._again(leaf)
                return
        task = self.branching_task(state)
        if task < 0:
            heapq.heappop(self._open)
            self._settled, leaf.state = min(self._settled, value), None
            return
        cases = {}
        for worker in np.flatnonzero(state.may[task]).tolist():
            cases[worker] = self._case(leaf, state, task, worker)
            self.nodes += 1
            yield cases[worker]
        heapq.heappop(self._open)
        leaf.task, leaf.cases, leaf.state = task, cases, None
        for worker, case in cases.items():
            if case.value < self.upper * (1 - ROUNDING):
                heapq.heappush(self._open, (case.value, self.nodes * 1000 + worker, case))
            else:
                case.state = None

    def branching_task(self, state: State) -> int:
        """The free task with the most transfer around it, -1 if all are settled."""
        free = state.may.sum(axis=1) > 1
        if not free.any():
            return -1
        return int(np.argmax(np.where(free, self.importance, -1.0)))

    def _again(self, leaf: Leaf) -> None:
        """The most promising leaf has another value now, and so another place."""
        _, number, _ = heapq.heappop(self._open)
        if leaf.value < self.upper * (1 - ROUNDING):
            heapq.heappush(self._open, (leaf.value, number, leaf))
        else:
            leaf.state = None

    def _case(self, leaf: Leaf, before: State, task: int, worker: int) -> Leaf:
        """The case in which a task runs on a worker."""
        state: State | None = fixed(before, task, worker)
        assert state is not None
        state.upper = min(self.upper, before.upper)
        state = tightened(self.relaxation, state)
        case = Leaf(leaf.value, state)
        for forward in (True, False):
            side = self.relaxation.forward if forward else self.relaxation.backward
            if state is not None and side.ptr[task + 1] - side.ptr[task] > 1:
                cone = Cone.of(self.relaxation, task, forward)
                state, step = raised(self.relaxation, cone, state, TRIES)
                if step.raised:
                    case.steps.append(step)
        if state is None:
            case.state, case.value = None, np.inf
            return case
        case.state = state
        case.claims = leaf.claims
        settle(self.relaxation, case)
        return case


def transfer_around(relaxation: Relaxation) -> Floats:
    """(n,) seconds that the transfers around a task take on average, added up, and a little for
    its own length. Very long ones count as 20 mean durations, so that many count more than one."""
    side, n = relaxation.forward, len(relaxation.seconds)
    w = relaxation.seconds.shape[1]
    apart = ~np.eye(w, dtype=bool)
    pairs = max(1, w * (w - 1))
    latency, per_byte, encode = (
        float(matrix[apart].sum()) / pairs for matrix in (side.latency, side.per_byte, side.encode)
    )
    consumer = np.repeat(np.arange(n), np.diff(side.ptr))
    shortest = relaxation.seconds.min(axis=1)
    seconds = latency + side.part * per_byte + side.whole * encode
    seconds = np.minimum(seconds, 20 * float(shortest.mean()))
    around = np.bincount(consumer, seconds, minlength=n)
    around += np.bincount(side.before, seconds, minlength=n)
    return np.asarray(around + 0.01 * shortest)
