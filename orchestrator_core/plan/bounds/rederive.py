"""Heads, tails and possible workers once more, for the checker: plain NumPy, slow, short (stage 3).

Nothing here is shared with the compiled code but the meaning; a test holds them together.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.relaxation import Relaxation, Side
from orchestrator_core.plan.bounds.state import DEADLINE_SLACK, ROUNDING, State
from orchestrator_core.plan.bounds.sweep import CUT, KEPT, Choices, Flags

CELLS = 2_000_000
"""Edges x workers^2 that are looked at together: a dense graph on many workers has 100 million."""


def derive(relaxation: Relaxation, state: State) -> bool:
    """Sharpen the state in place until nothing changes; False if it describes no schedule."""
    while True:
        left = int(state.may.sum())
        if not sweep_both(relaxation, state):
            return False
        if state.upper < np.inf and not _restrict(relaxation, state):
            return False
        if int(state.may.sum()) == left:
            return True


def sweep_both(relaxation: Relaxation, state: State, edge: Choices | None = None) -> bool:
    """Raise all heads and tails once; False if a task has no worker left."""
    return _sweep(relaxation.forward, relaxation, state, state.head, edge) and _sweep(
        relaxation.backward, relaxation, state, state.tail, edge
    )


def delays(side: Side, edges: Ints) -> Floats:
    """(edges, w, w) seconds from the end of `before` on one worker to the start on another."""
    part, whole = side.part[edges, None, None], side.whole[edges, None, None]
    way = side.latency + part * side.per_byte + whole * side.encode
    way[:, np.eye(len(side.latency), dtype=bool)] = 0.0
    return np.asarray(way)


def _sweep(
    side: Side, relaxation: Relaxation, state: State, head: Floats, edge: Choices | None
) -> bool:
    apart = ~np.eye(head.shape[1], dtype=bool)
    for t in side.order[state.active[side.order]].tolist():
        edges = np.arange(side.ptr[t], side.ptr[t + 1])
        edges = edges[state.active[side.before[edges]]]
        if len(edges):
            q = side.before[edges]
            made = np.where(state.may[q], head[q] + relaxation.seconds[q], np.inf)
            arrival = np.where(apart, made[:, :, None] + delays(side, edges), np.inf)
            remote = arrival.min(axis=1)
            here = np.where(state.may[q], head[q], np.inf)
            if edge is not None:
                remote[edge[side.pair[edges]] == KEPT] = np.inf
                here[edge[side.pair[edges]] == CUT] = np.inf
            for b in np.flatnonzero(state.may[t]).tolist():
                each = (here[:, b], relaxation.seconds[q, b], relaxation.work[0, q, b])
                head[t, b] = max(head[t, b], _join(*each, remote[:, b]))
        state.may[t] &= head[t] < np.inf
        if not state.may[t].any():
            return False
    return True


def _join(here: Floats, seconds: Floats, work: Floats, remote: Floats) -> float:
    """The least s by which all that cannot arrive by s can be done here."""
    latest = np.argsort(-remote, kind="stable")
    best = np.inf
    for k in range(len(latest) + 1):
        arrival = remote[latest[k]] if k < len(latest) else -np.inf
        local = _done(here, seconds, work, latest[:k])
        best = min(best, max(local, arrival))
        if local >= arrival:
            break
    return float(best)


def _done(here: Floats, seconds: Floats, work: Floats, chosen: Ints) -> float:
    if len(chosen) == 0:
        return -np.inf
    if not np.isfinite(here[chosen]).all():
        return np.inf
    by_start = chosen[np.argsort(-here[chosen], kind="stable")]
    together = here[by_start] + np.cumsum(work[by_start])
    return float(max(together.max(), (here[chosen] + seconds[chosen]).max()))


def _restrict(relaxation: Relaxation, state: State) -> bool:
    target = state.upper * (1 - ROUNDING)
    if not in_time(relaxation, state, target):
        return False
    for members in groups(*_inseparable(relaxation, state, target), len(state.may)):
        if not on_one_worker(relaxation, state, members, target):
            return False
    settled = state.active & (state.may.sum(axis=1) == 1)
    for b in range(state.may.shape[1]):
        alone = np.flatnonzero(settled & state.may[:, b])
        if len(alone) > 1 and not _fits(relaxation, state, alone, b, target):
            return False
    return True


def in_time(relaxation: Relaxation, state: State, target: float) -> bool:
    """Take away the workers on which a task ends too late; False if one has none left."""
    end = state.head + np.where(state.may, relaxation.seconds, 0.0)
    late = end > relaxation.deadline[:, None] + DEADLINE_SLACK * state.upper
    state.may &= (end + state.tail < target) & ~late
    return bool(state.may[state.active].any(axis=1).all())


def on_one_worker(relaxation: Relaxation, state: State, members: Ints, target: float) -> bool:
    """Take away the workers that cannot run all members; False if none is left."""
    for b in np.flatnonzero(state.may[members].any(axis=0)).tolist():
        if not _fits(relaxation, state, members, b, target):
            state.may[members, b] = False
    return bool(state.may[members[0]].any())


def _fits(relaxation: Relaxation, state: State, members: Ints, b: int, target: float) -> bool:
    if not state.may[members, b].all():
        return False
    head, tail = state.head[members, b], state.tail[members, b]
    by_tail = np.argsort(-tail, kind="stable")
    for work in relaxation.work[:, members, b]:
        for since in np.unique(head):
            inside = by_tail[head[by_tail] >= since]
            if (since + np.cumsum(work[inside]) + tail[inside]).max() >= target:
                return False
    return True


def _inseparable(relaxation: Relaxation, state: State, target: float) -> tuple[Ints, Ints]:
    """Producers and consumers that no two workers are fast enough for."""
    side = relaxation.forward
    consumer = np.repeat(np.arange(len(state.may)), np.diff(side.ptr))
    edges = np.flatnonzero(state.active[consumer] & state.active[side.before])
    forced = edges[~cut_in_time(relaxation, state, target, edges)]
    return side.before[forced], consumer[forced]


def cut_in_time(relaxation: Relaxation, state: State, target: float, edges: Ints) -> Flags:
    """(edges,) can it be soon enough if producer and consumer are on two workers?"""
    side, w = relaxation.forward, state.may.shape[1]
    consumer = np.repeat(np.arange(len(state.may)), np.diff(side.ptr))
    seconds = np.where(state.may, relaxation.seconds, np.inf)
    first, last = state.head + seconds, seconds + state.tail
    found, some = np.zeros(len(edges), dtype=np.bool_), max(1, CELLS // w**2)
    for begin in range(0, len(edges), some):
        few = edges[begin : begin + some]
        ends = first[side.before[few]][:, :, None], last[consumer[few]][:, None, :]
        whole = ends[0] + delays(side, few) + ends[1]
        whole[:, np.eye(w, dtype=bool)] = np.inf
        found[begin : begin + some] = (whole < target).any(axis=(1, 2))
    return found


def groups(a: Ints, b: Ints, n: int) -> list[Ints]:
    """Tasks that are joined by pairs, those of at least two."""
    label = np.arange(n)
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        label[label == max(label[x], label[y])] = min(label[x], label[y])
    number, size = np.unique(label, return_counts=True)
    return [np.flatnonzero(label == each) for each in number[size > 1]]
