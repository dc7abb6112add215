"""Lines: what waits, smallest key first; skew heaps, so that none needs room of its own.

A node is in one line at most. Adding, taking and removing take logarithmic time on average.
"""

from __future__ import annotations

from orchestrator_core.execute.simulate.kernel.state import ABOVE, HIGH, KEY, LOW, State
from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.engine.compiled import inlined


@inlined
def join(s: State, line: int, x: int) -> None:
    """Put node x into the line."""
    s.node[x, LOW] = s.node[x, HIGH] = -1
    first = _merged(s.node, s.root[line], x)
    s.node[first, ABOVE] = -1
    s.root[line] = first


@inlined
def take_first(s: State, line: int) -> int:
    """Take the first node of the line away; -1 if it is empty."""
    x = s.root[line]
    if x >= 0:
        leave(s, line, x)
    return int(x)


@inlined
def leave(s: State, line: int, x: int) -> None:
    """Take node x out of the line that it is in."""
    above = s.node[x, ABOVE]
    rest = _merged(s.node, s.node[x, LOW], s.node[x, HIGH])
    if rest >= 0:
        s.node[rest, ABOVE] = above
    if above < 0:
        s.root[line] = rest
    elif s.node[above, LOW] == x:
        s.node[above, LOW] = rest
    else:
        s.node[above, HIGH] = rest


@inlined
def _merged(node: Ints, a: int, b: int) -> int:
    """The top of both heaps together; either may be -1, for none."""
    if a < 0:
        return b
    if b < 0:
        return a
    if node[b, KEY] < node[a, KEY]:
        a, b = b, a
    top = a
    # Down along a's right side; its children change sides, which keeps the heap shallow.
    while True:
        below = node[a, HIGH]
        node[a, HIGH] = node[a, LOW]
        if below < 0 or node[b, KEY] < node[below, KEY]:
            below, b = b, below
        node[a, LOW], node[below, ABOVE] = below, a
        if b < 0:
            return top
        a = below
