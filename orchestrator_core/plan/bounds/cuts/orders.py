"""What an order on one worker means: which task must be first, and when the later ones can start.
Compiled (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.cuts.node import Node, Terms
from orchestrator_core.plan.bounds.sweep import Flags
from orchestrator_core.plan.engine.compiled import inner

GREW = 1 + 1e-12
"""Relative; by less, a head is as it was."""


@inner
def order_members(terms: Terms, node: Node, members: Ints, target: float) -> int:
    """Put tasks of one worker in the order that is left, where only one is.

    J. Carlier, E. Pinson: An algorithm for solving the job-shop problem (1989).

    Returns:
        1 if there is more order now, 0 if not, -1 if two can be in neither order.
    """
    changed = 0
    for x in range(len(members)):
        i = members[x]
        for y in range(x + 1, len(members)):
            j = members[y]
            if not terms.alone[i, j] or node.sooner[i, j] or node.sooner[j, i]:
                continue
            forth, back = _possible_orders(terms.seconds, node, i, j, target)
            if not (forth or back):
                return -1
            if forth != back:
                changed = 1
                node.sooner[i, j], node.sooner[j, i] = forth, back
    return changed


@inner
def _possible_orders(
    seconds: Floats, node: Node, i: int, j: int, target: float
) -> tuple[bool, bool]:
    """Can i come before j on some worker, and j before i?"""
    forth, back = False, False
    for b in range(seconds.shape[1]):
        if node.may[i, b] and node.may[j, b]:
            both = seconds[i, b] + seconds[j, b]
            forth = forth or node.head[i, b] + both + node.tail[j, b] < target
            back = back or node.head[j, b] + both + node.tail[i, b] < target
            if forth and back:
                break
    return forth, back


@inner
def raise_members(work: Floats, node: Node, members: Ints) -> bool:
    """Heads and tails of tasks of one worker, by the work of those that come before and after; are
    some larger now?"""
    changed = False
    for b in range(node.may.shape[1]):
        if node.may[members[0], b]:
            changed |= _raise_on(work, node.sooner, node.head, members, b, True)
            changed |= _raise_on(work, node.sooner, node.tail, members, b, False)
    return changed


@inner
def _raise_on(
    work: Floats, sooner: Flags, head: Floats, members: Ints, b: int, forward: bool
) -> bool:
    """Of worker b, whose tasks before t need their work from the first of their heads on."""
    changed = False
    before = head[members, b]  # as they were: what is raised meanwhile would come out of turn
    latest = np.argsort(-before)
    for t in members:
        total, best = 0.0, head[t, b]
        for k in latest:
            q = members[k]
            if sooner[q, t] if forward else sooner[t, q]:
                total += work[q, b]
                best = max(best, before[k] + total)
        if best > head[t, b] * GREW:
            head[t, b], changed = best, True
    return changed
