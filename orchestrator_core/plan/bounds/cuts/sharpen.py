"""What follows from the decisions of a node, until nothing more does. Compiled (stage 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.cuts.node import Node, Terms
from orchestrator_core.plan.bounds.cuts.orders import order_members, raise_members
from orchestrator_core.plan.bounds.filtering import apart_in_time, find_root, in_time, on_one_worker
from orchestrator_core.plan.bounds.relaxation import Side
from orchestrator_core.plan.bounds.sweep import CUT, KEPT, OPEN, Choices, Flags, raise_heads
from orchestrator_core.plan.engine.compiled import inner

MOST_ROUNDS = 30


class _Seen(NamedTuple):
    """What a side of a node was like when heads, or tails, were raised last."""

    values: Floats
    may: Flags
    edge: Choices


@inner
def sharpen(terms: Terms, node: Node, parent: Node, target: float, slack: float) -> bool:
    """Is there still a schedule shorter than `target` seconds in this case, for all that is known?

    Args:
        node: sharpened in place. parent: what it was like before the last decision, sharpened.
        slack: seconds by which a deadline may be missed.
    """
    root = np.empty(len(terms.seconds), dtype=np.int64)
    ahead = _Seen(parent.head.copy(), parent.may.copy(), parent.edge.copy())
    behind = _Seen(parent.tail.copy(), parent.may.copy(), parent.edge.copy())
    for _ in range(MOST_ROUNDS):
        if not (
            _sweep(terms, terms.forward, node.head, node, ahead)
            and _sweep(terms, terms.backward, node.tail, node, behind)
        ):
            return False
        changed = _restrict_each(terms, node, target, slack)
        if changed >= 0:
            _join(terms, node, target, root)
            changed |= _settle_edges(terms, node, target, root)
        if changed >= 0:
            changed |= _restrict_groups(terms, node, target, root)
        if changed <= 0:
            return changed == 0
    return True


@inner
def _sweep(terms: Terms, side: Side, values: Floats, node: Node, seen: _Seen) -> bool:
    """Raise the heads, or tails, behind what has changed since they were seen."""
    moved = np.zeros(len(values), dtype=np.bool_)
    for t in range(len(values)):
        for b in range(values.shape[1]):
            if node.may[t, b] != seen.may[t, b] or values[t, b] != seen.values[t, b]:
                moved[t] = True
        for e in range(side.ptr[t], side.ptr[t + 1]):
            if node.edge[side.pair[e]] != seen.edge[side.pair[e]]:
                moved[t] = moved[side.before[e]] = True
    found = raise_heads(
        side, terms.seconds, terms.work[0], terms.active, node.may, values, node.edge, moved
    )
    seen.values[:], seen.may[:], seen.edge[:] = values, node.may, node.edge
    return found >= 0


@inner
def _restrict_each(terms: Terms, node: Node, target: float, slack: float) -> int:
    changed = 0
    for t in range(len(node.may)):
        latest = terms.deadline[t] + slack
        left, fewer = in_time(
            terms.seconds[t], latest, node.head[t], node.tail[t], target, node.may[t]
        )
        if left == 0:
            return -1
        if fewer:
            changed = 1
    return changed


@inner
def _join(terms: Terms, node: Node, target: float, parent: Ints) -> None:
    """Join tasks that share a worker: by kept edges, those that cannot be cut, or as both have one
    worker left."""
    side, n = terms.forward, len(parent)
    for t in range(n):
        parent[t] = t
    for t in range(n):
        for e in range(side.ptr[t], side.ptr[t + 1]):
            q, choice = side.before[e], node.edge[side.pair[e]]
            if choice == OPEN and not apart_in_time(
                side, terms.seconds, node.may, node.head, node.tail, target, t, e
            ):
                node.edge[side.pair[e]] = choice = KEPT
            if choice == KEPT:
                _unite(parent, q, t)
    for b in range(node.may.shape[1]):
        first = -1
        for t in range(n):
            if node.may[t, b] and node.may[t].sum() == 1:
                if first >= 0:
                    _unite(parent, first, t)
                first = t
    for t in range(n):
        parent[t] = find_root(parent, t)


@inner
def _unite(parent: Ints, a: int, b: int) -> None:
    x, y = find_root(parent, a), find_root(parent, b)
    parent[max(x, y)] = min(x, y)


@inner
def _settle_edges(terms: Terms, node: Node, target: float, parent: Ints) -> int:
    """Edges within a group are kept, those that cannot be are cut; what is cut has two workers."""
    side, changed = terms.forward, 0
    for t in range(len(parent)):
        for e in range(side.ptr[t], side.ptr[t + 1]):
            q, pair = side.before[e], side.pair[e]
            if node.edge[pair] == OPEN:
                if parent[q] == parent[t]:
                    node.edge[pair] = KEPT
                elif not _can_be_kept(terms, node, q, t, target):
                    node.edge[pair], changed = CUT, 1
            if node.edge[pair] == CUT:
                if parent[q] == parent[t]:
                    return -1
                fewer = _keep_apart(node, q, t)
                if fewer < 0:
                    return -1
                changed |= fewer
    return changed


@inner
def _can_be_kept(terms: Terms, node: Node, q: int, t: int, target: float) -> bool:
    for b in range(node.may.shape[1]):
        if node.may[q, b] and node.may[t, b]:
            both = terms.seconds[q, b] + terms.seconds[t, b]
            if node.head[q, b] + both + node.tail[t, b] < target:
                return True
    return False


@inner
def _keep_apart(node: Node, q: int, t: int) -> int:
    """Where one of two tasks has one worker left, the other has it no more; -1: that was its last,
    1: it has fewer now."""
    changed = 0
    for one, other in ((q, t), (t, q)):
        if node.may[one].sum() == 1:
            b = int(np.argmax(node.may[one]))
            if node.may[other, b]:
                node.may[other, b], changed = False, 1
                if not node.may[other].any():
                    return -1
    return changed


@inner
def _restrict_groups(terms: Terms, node: Node, target: float, parent: Ints) -> int:
    """What tasks that share a worker need together."""
    order, changed = np.argsort(parent, kind="mergesort"), 0
    first, n = 0, len(parent)
    while first < n:
        past = first + 1
        while past < n and parent[order[past]] == parent[order[first]]:
            past += 1
        if past - first > 1:
            members = order[first:past]
            left, fewer = on_one_worker(members, terms.work, node.head, node.tail, target, node.may)
            if left == 0:
                return -1
            more = order_members(terms, node, members, target)
            if more < 0:
                return -1
            if fewer or raise_members(terms.work[0], node, members):
                more = 1
            changed |= more
        first = past
    return changed
