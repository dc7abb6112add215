"""Branch and bound on where the hubs run (stage 3).

The window program splits each task over all workers, and so pays for no transfer. Once the task
with the most bytes around it is fixed, what it sends and receives counts, and its cone is worth
more. So each node of the tree fixes one more task, the one with the most transfer around it; the
smallest bound of the open nodes holds at any moment.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds.certificate import Case, Packing, Refutation, Step
from orchestrator_core.plan.bounds.cone import Cone
from orchestrator_core.plan.bounds.packing import packed
from orchestrator_core.plan.bounds.raising import fixed, raised, sum_of
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import DIGITS, ROUNDING, State, tightened
from orchestrator_core.plan.bounds.windows import ROUNDS, Claims, fit

TRIES = 3
"""How often the head of a fixed task is tried to be larger."""

PACKINGS_OF_A_CASE = 2
"""Limits that are tried in each case."""

TRIALS, SELDOM = 24, 8
"""So many cases are tried in any tree, and further ones while one in so many is of use."""

MOST_BYTES = 400_000_000
"""Of open nodes; beyond, the tree grows no more."""


@dataclass(slots=True)
class Leaf:
    """A case, and what is known in it.

    Attributes:
        value: seconds that no schedule of the case is shorter than.
        state: None once it is settled or has cases of its own.
        claims: of the latest window program. sums: the claims by which programs raised the value.
        packing: why whole tasks do not fit within the largest limit for which that is known.
        refutation: why nothing is shorter than the largest limit that was refuted.
        task, cases: the task on which its cases depend, and they by worker.
        is_packed: was it tried whether whole tasks fit?
    """

    value: float
    state: State | None
    claims: Claims | None = None
    sums: list[Claims] = field(default_factory=list)
    packing: Packing | None = None
    refutation: Refutation | None = None
    steps: list[Step] = field(default_factory=list)
    task: int = -1
    cases: dict[int, Leaf] = field(default_factory=dict)
    is_packed: bool = False

    def as_case(self, whole: bool = True) -> Case:
        """As plain data; with its cases, if `whole`."""
        cases = self.cases if whole else {}
        return Case(
            tuple(self.steps),
            tuple(sum_of(claims) for claims in self.sums),
            self.packing,
            self.refutation,
            self.task if cases else -1,
            tuple(cases),
            tuple(case.as_case() for case in cases.values()),
        )


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
        self._packings, self._packed = 0, 0
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
        if not leaf.is_packed:
            yield from self._pack(leaf)
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

    def _pack(self, leaf: Leaf) -> Iterator[Leaf]:
        """Try whether whole tasks fit, as long as that is of use now and then."""
        leaf.is_packed = True
        if self._packings >= TRIALS and self._packed * SELDOM < self._packings:
            return
        before = leaf.value
        assert leaf.state is not None
        leaf.state.upper = min(self.upper, leaf.state.upper)
        for _ in pack(self.relaxation, leaf, PACKINGS_OF_A_CASE):
            yield leaf
        self._packings += 1
        self._packed += leaf.value > before

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


def settle(
    relaxation: Relaxation, leaf: Leaf, accuracy: float = 1e-4, rounds: int = ROUNDS
) -> None:
    """Raise a leaf's value by paths and windows; those are sought in so many rounds at most."""
    state = leaf.state
    assert state is not None
    leaf.value = max(leaf.value, state.lower_bound(relaxation))
    if leaf.value >= state.upper * (1 - ROUNDING) or leaf.value <= 0:
        return
    tasks = np.arange(len(state.may))
    leaf.claims = fit(
        relaxation, state, tasks, leaf.value, state.upper, leaf.claims, accuracy, rounds
    )
    value = min(state.upper, leaf.claims.bound * (1 - DIGITS))
    if value > leaf.value:
        leaf.value = value
        leaf.sums.append(leaf.claims._replace(split=leaf.claims.split[:0]))


def pack(relaxation: Relaxation, leaf: Leaf, tries: int) -> Iterator[None]:
    """Raise a leaf's value to limits within which whole tasks do not fit: first to the makespan
    that is to be beaten, then, a step each, halfway between what is proven and what failed."""
    state = leaf.state
    if state is None:
        return
    high = limit = state.upper
    for _ in range(tries):
        if not 0 < leaf.value < state.upper * (1 - ROUNDING):
            return
        packing = packed(relaxation, state, leaf.claims, limit)
        if packing is None:
            high = limit
        else:
            leaf.value, leaf.packing = limit, packing
        limit = 0.5 * (leaf.value + high)
        yield


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
