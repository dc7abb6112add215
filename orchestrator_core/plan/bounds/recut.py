"""What follows from decisions once more, for the checker: plain NumPy, slow, short (stage 3).

Nothing here is shared with the compiled code but the meaning; a test holds them together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.errors import InvalidCertificate
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.certificate import Refutation
from orchestrator_core.plan.bounds.rederive import (
    cut_in_time,
    groups,
    in_time,
    on_one_worker,
    sweep_both,
)
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import ROUNDING, State
from orchestrator_core.plan.bounds.sweep import CUT, KEPT, OPEN, Choices, Flags

EDGE, WORKER, ORDER, CONTRADICTION, BACK = 0, 1, 2, 3, 4
"""See `Refutation`."""

SAME = 1e-12
"""Relative; by less, heads are as they were."""


@dataclass(slots=True)
class _Case:
    """What is decided, as in `cuts/node.py`."""

    state: State
    edge: Choices
    sooner: Flags

    def copy(self) -> _Case:
        return _Case(self.state.copy(), self.edge.copy(), self.sooner.copy())


class Recut:
    """The arguments by decisions about one problem.

    Args:
        alone: (n, n) tasks that cannot run at the same time on any one worker.
    """

    def __init__(self, relaxation: Relaxation, alone: Flags) -> None:
        self.relaxation, self.alone = relaxation, alone
        side, n = relaxation.forward, len(relaxation.seconds)
        consumer = np.repeat(np.arange(n), np.diff(side.ptr))
        _, at = np.unique(side.pair, return_index=True)
        self.producer, self.consumer = side.before[at], consumer[at]
        self.number = {
            ends: pair
            for pair, ends in enumerate(
                zip(self.producer.tolist(), self.consumer.tolist(), strict=True)
            )
        }

    def follow(self, refutation: Refutation, state: State) -> None:
        """Nothing, if the refutation holds in this state, whose `upper` is its limit.

        Raises:
            InvalidCertificate: if it is no whole tree, or a case does not contradict itself.
        """
        n = len(state.may)
        sooner = np.zeros((n, n), dtype=np.bool_)
        for q, t in zip(self.producer, self.consumer, strict=True):
            sooner[q, t] = True
        for _ in range(n):
            more = sooner | (sooner.astype(np.float32) @ sooner.astype(np.float32) > 0)
            if (more == sooner).all():
                break
            sooner = more
        root = _Case(state, np.zeros(len(self.producer), dtype=np.int8), sooner)
        waiting: list[_Case | None] = [root]
        for step in refutation.steps:
            if not waiting:
                raise InvalidCertificate("a refutation goes on where nothing is left to refute")
            case = waiting.pop()
            if case is not None and not self._holds(case):
                case = None
            if step[0] != CONTRADICTION:
                waiting += self._cases(case, step)
            elif case is not None:
                raise InvalidCertificate("a case is said to contradict itself, which it does not")
        if waiting:
            raise InvalidCertificate(f"a refutation leaves {len(waiting)} cases open")

    def _cases(self, case: _Case | None, step: tuple[int, int, int]) -> list[_Case | None]:
        """The two cases of a decision, the one that is told first last."""
        what, a, b = step[0] % BACK, step[1], step[2]
        if not (0 <= step[0] < 2 * BACK and what != CONTRADICTION):
            raise InvalidCertificate(f"there is no decision of kind {step[0]}")
        n, w = self.relaxation.seconds.shape
        if not (0 <= a < n and 0 <= b < (w if what == WORKER else n)):
            raise InvalidCertificate(f"a decision is about {a} and {b}, which are not both there")
        if case is None:
            return [None, None]
        first, second = case.copy(), case.copy()
        if what == EDGE:
            self._edge(first, second, a, b)
        elif what == WORKER:
            first.state.may[a] &= np.arange(w) == b
            second.state.may[a, b] = False
        else:
            self._order(first, second, a, b)
        return [first, second] if step[0] >= BACK else [second, first]

    def _edge(self, first: _Case, second: _Case, a: int, b: int) -> None:
        pair = self.number.get((a, b))
        if pair is None:
            raise InvalidCertificate(f"there is no edge from task {a} to task {b}")
        first.edge[pair], second.edge[pair] = KEPT, CUT

    def _order(self, first: _Case, second: _Case, a: int, b: int) -> None:
        may = first.state.may
        if not (self.alone[a, b] and may[a].sum() == 1 and (may[a] == may[b]).all()):
            raise InvalidCertificate(f"tasks {a} and {b} need not come one after the other")
        first.sooner[a, b] = second.sooner[b, a] = True

    def _holds(self, case: _Case) -> bool:
        """Sharpen the case in place until nothing changes; False if it contradicts itself."""
        state = case.state
        target = state.upper * (1 - ROUNDING)
        while True:
            before = self._measure(case)
            if not sweep_both(self.relaxation, state, case.edge):
                return False
            if not in_time(self.relaxation, state, target):
                return False
            if not self._groups(case, target):
                return False
            if np.allclose(self._measure(case), before, rtol=SAME, atol=0.0):
                return True

    def _measure(self, case: _Case) -> Floats:
        """What changes if anything does."""
        may = case.state.may
        known = (case.state.head[may].sum(), case.state.tail[may].sum())
        return np.array([*known, may.sum(), (case.edge != OPEN).sum(), case.sooner.sum()])

    def _groups(self, case: _Case, target: float) -> bool:
        """Decide edges of which one case is left, and look at tasks that share a worker."""
        state, n = case.state, len(case.state.may)
        case.edge[(case.edge == OPEN) & ~self._can_be_cut(state, target)] = KEPT
        single = np.flatnonzero(state.may.sum(axis=1) == 1)
        there = np.argmax(state.may[single], axis=1)
        first = np.array([single[there == b][0] for b in there], dtype=np.int64)
        kept = case.edge == KEPT
        joined = groups(
            np.concatenate([self.producer[kept], first]),
            np.concatenate([self.consumer[kept], single]),
            n,
        )
        label = np.arange(n)
        for members in joined:
            label[members] = members[0]
        if not self._edges(case, label, target):
            return False
        return all(self._members(case, members, target) for members in joined)

    def _can_be_cut(self, state: State, target: float) -> Flags:
        """(pairs,) on two workers in time, by each of its edges?"""
        side = self.relaxation.forward
        found = np.ones(len(self.producer), dtype=np.bool_)
        every = np.arange(len(side.before))
        np.logical_and.at(found, side.pair, cut_in_time(self.relaxation, state, target, every))
        return found

    def _edges(self, case: _Case, label: Ints, target: float) -> bool:
        """Within a group edges are kept; what cannot be kept is cut, and has two workers."""
        state, seconds = case.state, self.relaxation.seconds
        q, t = self.producer, self.consumer
        case.edge[(case.edge == OPEN) & (label[q] == label[t])] = KEPT
        both = state.may[q] & state.may[t]
        whole = state.head[q] + np.where(both, seconds[q] + seconds[t], np.inf) + state.tail[t]
        case.edge[(case.edge == OPEN) & ~(whole < target).any(axis=1)] = CUT
        for a, b in zip(q[case.edge == CUT], t[case.edge == CUT], strict=True):
            if label[a] == label[b]:
                return False
            for one, other in ((a, b), (b, a)):
                if state.may[one].sum() == 1:
                    state.may[other] &= ~state.may[one]
            if not (state.may[a].any() and state.may[b].any()):
                return False
        return True

    def _members(self, case: _Case, members: Ints, target: float) -> bool:
        """Tasks of one worker: which of them may, in which order, and what that takes."""
        if not on_one_worker(self.relaxation, case.state, members, target):
            return False
        if not self._in_order(case, members, target):
            return False
        state = case.state
        for b in np.flatnonzero(state.may[members[0]]).tolist():
            work = self.relaxation.work[0, members, b]
            among = case.sooner[np.ix_(members, members)]
            state.head[members, b] = _after(state.head[members, b], work, among)
            state.tail[members, b] = _after(state.tail[members, b], work, among.T)
        return True

    def _in_order(self, case: _Case, members: Ints, target: float) -> bool:
        """Of two that cannot run at once, one comes first; False if neither can."""
        state = case.state
        seconds = np.where(state.may, self.relaxation.seconds, np.inf)[members]
        head, tail = state.head[members], state.tail[members]
        ends = (head + seconds)[:, None, :] + (seconds + tail)[None, :, :]
        possible = (ends < target).any(axis=2)
        among = np.ix_(members, members)
        sooner = case.sooner[among]
        free = self.alone[among] & ~sooner & ~sooner.T
        if (free & ~possible & ~possible.T).any():
            return False
        case.sooner[among] = sooner | (free & possible & ~possible.T)
        return True


def _after(head: Floats, work: Floats, sooner: Flags) -> Floats:
    """(k,) heads, raised by the work of those that come sooner, from their first head on."""
    raised = head.copy()
    latest = np.argsort(-head, kind="stable")
    for i in range(len(head)):
        chosen = latest[sooner[latest, i]]
        if len(chosen):
            raised[i] = max(head[i], float((head[chosen] + np.cumsum(work[chosen])).max()))
    return raised
