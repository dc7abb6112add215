"""Depth first through the tree of cuts, a few nodes at a time. Compiled (stage 3).

Which decision comes next is learnt: those whose two cases raised heads and tails the most, lately
and anywhere in the tree, are tried first (pseudo-costs: M. Benichou and others, Experiments in
mixed-integer linear programming, 1971). Of a few of them both cases are looked at, and the best is
taken (strong branching: D. Applegate and others, Finding cuts in the TSP, 1995), until a few in a
row were no better (T. Achterberg, T. Koch, A. Martin, Branching rules revisited, 2005). If one case
is a contradiction, the other one holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.cuts.node import Node, Terms
from orchestrator_core.plan.bounds.cuts.sharpen import sharpen
from orchestrator_core.plan.bounds.sweep import CUT, KEPT, OPEN
from orchestrator_core.plan.engine.compiled import compiled, inner

Record = NDArray[np.int32]

EDGE, WORKER, ORDER, CONTRADICTION, BACK = 0, 1, 2, 3, 4
"""What a row of the record says, see `Refutation` in `certificate.py`; with BACK added, the second
case comes first."""

GOES_ON, REFUTED, DECIDED, FULL = 0, 1, 2, 3
"""The tree has open nodes; none is left; one has nothing left to decide; there is no room."""

LOOKED_AT = 8
"""Decisions of which both cases are looked at, at most."""

IN_VAIN = 3
"""So many in a row that are no better than the best of them: no more are looked at."""

FADE = 0.9
"""What the credit of a decision keeps each time that it is looked at."""

LESSER = 10.0
"""How much more the case counts that gains less."""


class Descent(NamedTuple):
    """A tree, depth first.

    Attributes:
        stack: nodes that are open, the next one at position ``at[0]``. spare: room for four.
        credit: (2, decisions) gains and tries, fading: of edges, then of a task on a worker.
        ends: (pairs, 2) producer and consumer.
        record: (k, 3) the tree as it was walked, ``at[2]`` rows.
        at: [top, nodes looked at, rows of the record, GOES_ON etc.].
    """

    stack: Node
    spare: Node
    credit: Floats
    ends: Ints
    record: Record
    at: Ints


@compiled
def descend(terms: Terms, d: Descent, target: float, slack: float, most: int) -> int:
    """Look at `most` nodes, about; how the tree stands.

    Args:
        target: seconds; it is asked whether there are shorter schedules. slack: see `sharpen`.
    """
    d.at[3] = GOES_ON
    until, rate = d.at[1] + most, np.empty(d.credit.shape[1])
    while d.at[0] >= 0 and d.at[1] < until and d.at[3] == GOES_ON:
        if d.at[0] + 2 >= len(d.stack.head) or d.at[2] + 4 > len(d.record):
            d.at[3] = FULL
        elif _rate(d, rate):
            _decide(terms, d, target, slack, np.argsort(-rate)[:LOOKED_AT], rate)
        else:
            _put_in_order(terms, d, target, slack)
    if d.at[0] < 0:
        d.at[3] = REFUTED
    return int(d.at[3])


@inner
def _rate(d: Descent, rate: Floats) -> bool:
    """Write what each decision promises in the top node, -1 if it is made; is one left?"""
    top, n, w = d.at[0], d.stack.may.shape[1], d.stack.may.shape[2]
    pairs, some = d.stack.edge.shape[1], False
    rate[:] = -1.0
    for e in range(pairs):
        if d.stack.edge[top, e] == OPEN:
            rate[e], some = d.credit[0, e] / d.credit[1, e], True
    for t in range(n):
        if d.stack.may[top, t].sum() > 1:
            for b in range(w):
                if d.stack.may[top, t, b]:
                    k = pairs + t * w + b
                    rate[k], some = d.credit[0, k] / d.credit[1, k], True
    return some


@inner
def _node(nodes: Node, k: int) -> Node:
    return Node(nodes.head[k], nodes.tail[k], nodes.may[k], nodes.edge[k], nodes.sooner[k])


@inner
def _copy(source: Node, to: Node) -> None:
    to.head[:], to.tail[:], to.may[:] = source.head, source.tail, source.may
    to.edge[:], to.sooner[:] = source.edge, source.sooner


@inner
def _slack_left(node: Node) -> float:
    """What all tasks wait for and have behind them at least, added up."""
    total = 0.0
    for t in range(len(node.may)):
        head, tail = np.inf, np.inf
        for b in range(node.may.shape[1]):
            if node.may[t, b]:
                head, tail = min(head, node.head[t, b]), min(tail, node.tail[t, b])
        total += head + tail
    return total


@inner
def _note(d: Descent, what: int, first: int, second: int) -> None:
    row = d.at[2]
    d.record[row, 0], d.record[row, 1], d.record[row, 2] = what, first, second
    d.at[2] = row + 1


@inner
def _case(node: Node, k: int, second: bool) -> None:
    """Decide: an edge is kept, or cut; a task runs on a worker, or elsewhere."""
    pairs, w = len(node.edge), node.may.shape[1]
    if k < pairs:
        node.edge[k] = CUT if second else KEPT
        return
    t, b = (k - pairs) // w, (k - pairs) % w
    if second:
        node.may[t, b] = False
    else:
        node.may[t] = False
        node.may[t, b] = True


@inner
def _named(d: Descent, k: int) -> tuple[int, int, int]:
    """Decision k as the record has it."""
    pairs, w = d.stack.edge.shape[1], d.stack.may.shape[2]
    if k < pairs:
        return EDGE, int(d.ends[k, 0]), int(d.ends[k, 1])
    return WORKER, (k - pairs) // w, (k - pairs) % w


@inner
def _branch(
    d: Descent, name: tuple[int, int, int], cases: tuple[Node, Node], gain: tuple[float, float]
) -> None:
    """Put the cases that are no contradictions, of infinite gain, in the place of the top node; the
    one that promises a schedule is looked at first."""
    top, swapped = d.at[0], gain[1] < gain[0]
    if gain[0] == np.inf or gain[1] == np.inf:
        swapped = gain[1] == np.inf and gain[0] < np.inf
    _note(d, name[0] + (BACK if swapped else 0), name[1], name[2])
    sooner, later = (cases[1], cases[0]) if swapped else cases
    if gain[0] == np.inf or gain[1] == np.inf:
        _note(d, CONTRADICTION, 0, 0)
        if gain[0] == gain[1]:
            _note(d, CONTRADICTION, 0, 0)
            d.at[0] = top - 1
        else:
            _copy(later, _node(d.stack, top))
        return
    _copy(later, _node(d.stack, top))
    _copy(sooner, _node(d.stack, top + 1))
    d.at[0] = top + 1


@inner
def _decide(
    terms: Terms, d: Descent, target: float, slack: float, ranked: Ints, rate: Floats
) -> None:
    """Make the best of these decisions in the top node."""
    top = d.at[0]
    before = _slack_left(_node(d.stack, top))
    most = target * len(terms.seconds)
    best, chosen, gains, room, in_vain = -1.0, -1, (0.0, 0.0), 0, 0
    for k in ranked:
        if rate[k] < 0 or in_vain == IN_VAIN:
            break
        cases = _node(d.spare, 2 * room), _node(d.spare, 2 * room + 1)
        for case in (0, 1):
            _copy(_node(d.stack, top), cases[case])
            _case(cases[case], k, case == 1)
        gain = _gains(terms, d, cases, target, slack, before)
        low, high = min(gain[0], gain[1], most), min(max(gain[0], gain[1]), most)
        worth = LESSER * low + high
        d.credit[0, k] = FADE * d.credit[0, k] + worth / most
        d.credit[1, k] = FADE * d.credit[1, k] + 1.0
        in_vain += 1
        if worth > best or max(gain[0], gain[1]) == np.inf:
            best, chosen, gains, room, in_vain = worth, k, gain, 1 - room, 0
        if max(gain[0], gain[1]) == np.inf:
            break
    room = 1 - room
    cases = _node(d.spare, 2 * room), _node(d.spare, 2 * room + 1)
    _branch(d, _named(d, chosen), cases, gains)


@inner
def _gains(
    terms: Terms, d: Descent, cases: tuple[Node, Node], target: float, slack: float, before: float
) -> tuple[float, float]:
    """What each case adds to heads and tails; infinity for a contradiction."""
    d.at[1] += 2
    first, second = np.inf, np.inf
    parent = _node(d.stack, d.at[0])
    if sharpen(terms, cases[0], parent, target, slack):
        first = _slack_left(cases[0]) - before
    if sharpen(terms, cases[1], parent, target, slack):
        second = _slack_left(cases[1]) - before
    return first, second


@inner
def _put_in_order(terms: Terms, d: Descent, target: float, slack: float) -> None:
    """All edges and workers are decided: which of two tasks of one worker comes first?"""
    top = d.at[0]
    before = _slack_left(_node(d.stack, top))
    i, j = _tightest(terms, _node(d.stack, top))
    if i < 0:
        d.at[3] = DECIDED
        return
    cases = _node(d.spare, 0), _node(d.spare, 1)
    for case in (0, 1):
        _copy(_node(d.stack, top), cases[case])
    cases[0].sooner[i, j] = cases[1].sooner[j, i] = True
    _branch(d, (ORDER, i, j), cases, _gains(terms, d, cases, target, slack, before))


@inner
def _tightest(terms: Terms, node: Node) -> tuple[int, int]:
    """Two tasks of one worker without an order, of which either way is the longest; or (-1, -1)."""
    best, i, j = -1.0, -1, -1
    for x in range(len(node.may)):
        b = int(np.argmax(node.may[x]))
        for y in range(x + 1, len(node.may)):
            if not (node.may[y, b] and terms.alone[x, y]):
                continue
            if node.sooner[x, y] or node.sooner[y, x]:
                continue
            both = terms.seconds[x, b] + terms.seconds[y, b]
            forth = node.head[x, b] + both + node.tail[y, b]
            back = node.head[y, b] + both + node.tail[x, b]
            if min(forth, back) > best:
                best, i, j = min(forth, back), x, y
    return i, j
