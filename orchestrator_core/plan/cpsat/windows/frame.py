"""Frame: what a window's model sees of the rest of the schedule, in ticks.

The window spans from shortly before its first task to shortly after its last. Items that end before
it are *frozen*: they keep their times. Items that start after it are *beyond*: they come after the
free tasks on their worker, and enter as tails only. The *band* between keeps its order and moves.
So the model's size depends on the window, not on the instance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.cpsat.windows.kernels import longest
from orchestrator_core.plan.cpsat.windows.order_graph import OrderGraph
from orchestrator_core.plan.cpsat.windows.timeline import Mask, Timeline

MARGIN = 0.25
"""Of the window's span, before and after it: how far free tasks may go beyond it."""


@dataclass(frozen=True, slots=True)
class Option:
    """A mode on a worker, for a free task; in seconds.

    Attributes:
        head: earliest start. tail: from its end to the last end, at least.
        latest: end, at the latest.
    """

    mode: int
    worker: int
    seconds: float
    head: float
    tail: float
    latest: float


@dataclass(frozen=True, slots=True)
class Frame:
    """A window's surroundings.

    Attributes:
        free: the free tasks, producers first. options: of each, at least one, in the same order.
        band: (b,) fixed items that may move. head: (k,) earliest starts of the fixed items.
        beyond: (k,) which items are beyond.
        least: seconds, a lower bound on the makespan as long as the fixed order stays.
        place: position of each free task.
        ready, after: (w,) seconds, by worker: the last end of frozen items, the longest tail of
            those beyond.
    """

    line: Timeline
    graph: OrderGraph
    free: tuple[int, ...]
    options: tuple[tuple[Option, ...], ...]
    band: Ints
    head: Floats
    beyond: Mask
    least: float
    place: dict[int, int]
    ready: Floats
    after: Floats


def frame(line: Timeline, graph: OrderGraph, free: Ints, target: float) -> Frame | None:
    """The frame of these free tasks; None if nothing can end by `target` seconds."""
    free = free[np.argsort(line.rank[free])]
    frozen, beyond = (graph.fixed & side for side in _sides(line, free))
    head = np.zeros(len(line.start))
    head[: line.n_tasks] = line.problem.release
    head[frozen] = line.start[frozen]
    longest(graph.arcs, graph.lag, head)
    least = float((head + graph.tail)[graph.fixed].max(initial=0.0))
    if least > target:
        return None
    found = _Options(line, graph, free, frozen, beyond, head)
    options = found.all(target)
    if options is None:
        return None
    band = np.flatnonzero(graph.fixed & ~frozen & ~beyond)
    place = {t: i for i, t in enumerate(free.tolist())}
    return Frame(
        line,
        graph,
        tuple(place),
        options,
        band,
        head,
        beyond,
        least,
        place,
        found.ready,
        found.tail,
    )


def band_size(line: Timeline, free: Ints) -> int:
    """How many fixed items the window's model would have, about."""
    before, after = _sides(line, free)
    return int((~before & ~after).sum()) - len(free)


def _sides(line: Timeline, free: Ints) -> tuple[Mask, Mask]:
    """(k,) what ends before the window, and what else starts after it."""
    first, last = float(line.start[free].min()), float(line.end[free].max())
    margin = MARGIN * (last - first)
    before = line.end <= first - margin + line.late
    return before, ~before & (line.start >= last + margin - line.late)


class _Options:
    """Heads and tails of the free tasks for each worker."""

    def __init__(
        self,
        line: Timeline,
        graph: OrderGraph,
        free: Ints,
        frozen: Mask,
        beyond: Mask,
        head: Floats,
    ) -> None:
        self.line, self.graph, self.head = line, graph, head
        self.free = free.tolist()
        w = line.problem.n_workers
        kinds = len(line.supply) // w
        self.ready, self.tail, self.latest = np.zeros(w), np.zeros(w), np.full(w, np.inf)
        place, item = line.uses[0] // kinds, line.uses[1]
        early, later = frozen[item], beyond[item]
        np.maximum.at(self.ready, place[early], line.end[item[early]])
        np.maximum.at(self.tail, place[later], graph.tail[item[later]])
        np.minimum.at(self.latest, place[later], graph.latest[item[later]])
        self.place = np.concatenate([line.worker, line.worker[line.sends[0]]])

    def all(self, target: float) -> tuple[tuple[Option, ...], ...] | None:
        """The options of each free task that may end by the target, or None."""
        p, inside = self.line.problem, set(self.free)
        heads: dict[int, Floats] = {}
        soonest: dict[int, float] = {}
        for t in self.free:
            heads[t] = self._head(t, inside, soonest)
            ends = p.seconds[p.mode_begin[t] : p.mode_end[t]] + heads[t]
            soonest[t] = float(ends.min())
        found: dict[int, tuple[Option, ...]] = {}
        least: dict[int, tuple[float, float]] = {}
        for t in reversed(self.free):
            tail, latest = self._after(t, inside, least)
            options = tuple(self._choices(t, heads[t], tail, latest, target))
            if not options:
                return None
            least[t] = (
                min(o.seconds + o.tail for o in options),
                max(o.latest - o.seconds for o in options),
            )
            found[t] = options
        return tuple(found[t] for t in self.free)

    def _head(self, t: int, inside: set[int], soonest: dict[int, float]) -> Floats:
        """(w,) earliest start on each worker."""
        p, line = self.line.problem, self.line
        head: Floats = np.maximum(self.ready, p.release[t])
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            a = int(p.in_task[k])
            if a in inside:
                np.maximum(head, soonest[a], out=head)
            else:
                done = self.head[a] + line.end[a] - line.start[a]
                np.maximum(head, done + delays_from(line, k, a, int(line.worker[a])), out=head)
        return head

    def _after(
        self, t: int, inside: set[int], least: dict[int, tuple[float, float]]
    ) -> tuple[Floats, Floats]:
        """(w,) seconds from its end to the last end, and its latest end, for each worker."""
        p, line = self.line.problem, self.line
        tail, latest = self.tail.copy(), np.minimum(self.latest, p.deadline[t])
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            c = int(p.out_task[k])
            if c in inside:
                np.maximum(tail, least[c][0], out=tail)
                np.minimum(latest, least[c][1], out=latest)
            else:
                delay = delays_to(line, t, float(p.out_bytes[k]), int(line.worker[c]))
                np.maximum(tail, delay + self.graph.tail[c], out=tail)
                np.minimum(latest, self.graph.latest[c] - delay, out=latest)
        return tail, latest

    def _choices(
        self, t: int, head: Floats, tail: Floats, latest: Floats, target: float
    ) -> list[Option]:
        p = self.line.problem
        modes = range(p.mode_begin[t], p.mode_end[t])
        end = head + p.seconds[p.mode_begin[t] : p.mode_end[t]]
        may = (end + tail <= target) & (end <= latest + self.line.late)
        return [
            Option(
                modes[m],
                b,
                float(p.seconds[modes[m], b]),
                float(head[b]),
                float(tail[b]),
                float(latest[b]),
            )
            for m, b in np.argwhere(may).tolist()
        ]


def delays_from(line: Timeline, edge: int, producer: int, source: int) -> Floats:
    """(w,) seconds from the producer's end on `source` to its output at each worker; the edge by
    its position in ``problem.in_task``."""
    p = line.problem
    delay = p.latency[source] + float(p.in_bytes[edge]) * p.per_byte[source]
    delay = delay + float(p.output_bytes[producer]) * p.encode[source]
    delay[source] = 0.0
    return np.asarray(delay, dtype=np.float64)


def delays_to(line: Timeline, producer: int, nbytes: float, there: int) -> Floats:
    """(w,) seconds from the producer's end on each worker to `nbytes` of its output `there`."""
    p = line.problem
    delay = p.latency[:, there] + nbytes * p.per_byte[:, there]
    delay = delay + float(p.output_bytes[producer]) * p.encode[:, there]
    delay[there] = 0.0
    return np.asarray(delay, dtype=np.float64)
