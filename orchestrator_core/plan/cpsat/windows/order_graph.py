"""OrderGraph: what of a schedule's order stays when some tasks are taken out (see `handed_on`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.cpsat.windows.kernels import handed_on, longest
from orchestrator_core.plan.cpsat.windows.timeline import Mask, Timeline


@dataclass(frozen=True, slots=True)
class OrderGraph:
    """A partial order among the items that are fixed.

    Attributes:
        fixed: (k,) which they are; an encoding goes with its task and with all its consumers.
        arcs: (2, a) sorted by the rank of their tails. lag: (a,) seconds from start to start.
        head: (k,) seconds, the earliest starts over the arcs.
        tail: (k,) seconds, the longest paths from a start to the last end.
        latest: (k,) seconds, the latest starts that the deadlines allow.
    """

    fixed: Mask
    arcs: Ints
    lag: Floats
    head: Floats
    tail: Floats
    latest: Floats


def order_graph(line: Timeline, free: Ints) -> OrderGraph:
    """The order without the free tasks."""
    fixed = _fixed(line, free)
    between = fixed[line.precedence[0]] & fixed[line.precedence[1]]
    handed = handed_on(
        line.uses,
        line.amount,
        line.supply,
        line.start,
        line.end,
        fixed.astype(np.int64),
        10 * line.late,
    )
    length = line.end - line.start
    arcs = np.concatenate([line.precedence[:2, between], handed], axis=1)
    lag = np.concatenate([line.lag[between], length[handed[0]]])
    forward = np.argsort(line.rank[arcs[0]], kind="stable")
    arcs, lag = np.ascontiguousarray(arcs[:, forward]), lag[forward]
    head = np.zeros(len(length))
    head[: line.n_tasks] = line.problem.release
    longest(arcs, lag, head)
    tail, latest = length.copy(), np.full(len(length), np.inf)
    latest[: line.n_tasks] = line.problem.deadline
    latest -= length
    backward = np.argsort(-line.rank[arcs[1]], kind="stable")
    back = np.ascontiguousarray(arcs[::-1, backward])
    longest(back, lag[backward], tail)
    if np.isfinite(latest).any():
        missing = -latest
        longest(back, lag[backward], missing)
        latest = -missing
    return OrderGraph(fixed, arcs, lag, head, tail, latest)


def _fixed(line: Timeline, free: Ints) -> Mask:
    fixed = np.ones(len(line.start), dtype=bool)
    fixed[free] = False
    x = line.sends.shape[1]
    if x:
        n = line.n_tasks
        tail, head = line.precedence[:2]
        kept = (tail >= n) & fixed[head]
        used = np.bincount(tail[kept] - n, minlength=x) > 0
        fixed[n:] = used & fixed[line.sends[0]]
    return fixed
