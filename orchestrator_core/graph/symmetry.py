"""A canonical order of a graph's tasks: the same for every numbering of the same graph.

Refinement (`refine.py`) leaves symmetric tasks with one colour. To tell these apart:

1. Edges that join all tasks of one colour to all of another carry no information: drop them.
   Their loss splits the graph into parts, such as the branches of a fork.
2. In each part at once, give one task of its most frequent colour a colour of its own, and
   refine; then begin again, until no edge is left.
3. Order the parts by what they contain; parts that contain the same are mirror images, and the
   one with the first task comes first. The choice in 2 falls on the first task too.

Where the tasks of a colour really are symmetric, which is the rule, any choice in 2 gives the same
graph. Where they are not, or the effort is spent, the order depends on the numbering: a graph that
is the same may then not be recognised, but never is one taken for another.
McKay and Piperno (2014), "Practical graph isomorphism, II", tell the general method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.mixing import GOLDEN, Colours, mix
from orchestrator_core.graph.refine import Refiner, class_keys
from orchestrator_core.graph.task_graph import Ints

_LEAST_EFFORT, _EFFORT_PER_EDGE = 20_000_000, 60
"""Limits in edges looked at, of about 20 nanoseconds each."""


@dataclass
class _Edges:
    """Edges that still carry information; positions among the tasks that still have such edges.

    Attributes:
        task: (k,) which tasks these are, as positions in the graph. level: (k,) theirs.
        producer, consumer: (x,) positions among the k. weight: (x,) odd numbers.
    """

    task: Ints
    level: Ints
    producer: Ints
    consumer: Ints
    weight: Colours

    def keep(self, alive: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[_Edges, Ints]:
        """Only these edges, and the positions of the tasks that still have some."""
        producer, consumer = self.producer[alive], self.consumer[alive]
        has = np.zeros(len(self.task), dtype=bool)
        has[producer] = has[consumer] = True
        new = np.cumsum(has) - 1
        kept = np.flatnonzero(has)
        smaller = _Edges(
            self.task[kept], self.level[kept], new[producer], new[consumer], self.weight[alive]
        )
        return smaller, kept


def canonical_order(
    colour: Colours, level: Ints, producer: Ints, consumer: Ints, weight: Colours
) -> Ints:
    """(n,) the tasks in an order that does not depend on their numbering, where that is cheap.

    Args:
        colour: (n,) what is known of each task by itself.
        level: (n,) as `refine.levels`.
        producer, consumer, weight: (e,) edges; weight an odd number for each label of edges.
    """
    n = len(colour)
    colour = colour.copy()
    edges = _Edges(np.arange(n), level, producer, consumer, weight)
    part = np.zeros(n, dtype=np.int64)
    splits: list[tuple[Ints, Ints]] = []
    effort, limit = 0, _LEAST_EFFORT + _EFFORT_PER_EDGE * (n + len(producer))
    while True:
        refiner = Refiner(edges.producer, edges.consumer, edges.weight, edges.level)
        colour[edges.task] = refiner(colour[edges.task], part)
        effort += refiner.effort
        edges, part = _split(edges, part, colour, splits)
        if not len(edges.producer) or effort > limit:
            return _order(colour, splits)
        chosen = edges.task[_ambiguous(colour[edges.task], part)]
        colour[chosen] = mix(colour[chosen] + np.uint64(GOLDEN))


def _split(
    edges: _Edges, part: Ints, colour: Colours, splits: list[tuple[Ints, Ints]]
) -> tuple[_Edges, Ints]:
    """Step 1 until nothing changes; notes in `splits` which tasks fell into which parts."""
    while True:
        edges_before, task = len(edges.producer), edges.task
        edges, kept = edges.keep(_telling(edges, colour[edges.task], part))
        found = _connected(len(kept), edges.producer, edges.consumer)
        names = task.copy()
        names[kept] = edges.task[found]
        splits.append((task, names))
        part = found
        if len(edges.producer) in (0, edges_before):
            return edges, part


def _telling(
    edges: _Edges, colour: Colours, part: Ints
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(x,) is the edge one of a bundle that joins two colours of a part, but not completely?"""
    _, cell, size = np.unique(class_keys(colour, part), return_inverse=True, return_counts=True)
    a, b = cell[edges.producer], cell[edges.consumer]
    telling = (size[a] > 1) & (size[b] > 1)
    if telling.any():
        a, b = a[telling], b[telling]
        labels, label = np.unique(edges.weight[telling], return_inverse=True)
        bundle = (a * len(size) + b) * len(labels) + label
        _, of_bundle, members = np.unique(bundle, return_inverse=True, return_counts=True)
        telling[telling] = members[of_bundle] < size[a] * size[b]
    return telling


def _connected(k: int, producer: Ints, consumer: Ints) -> Ints:
    """(k,) the smallest position in each one's connected component."""
    root = np.arange(k, dtype=np.int64)
    while True:
        a, b = root[producer], root[consumer]
        if np.array_equal(a, b):
            return root
        np.minimum.at(root, np.maximum(a, b), np.minimum(a, b))
        while not np.array_equal(up := root[root], root):
            root = up


def _ambiguous(colour: Colours, part: Ints) -> Ints:
    """A task of the most frequent colour of each part; such a choice tells most others apart."""
    _, first, cell, size = np.unique(
        class_keys(colour, part), return_index=True, return_inverse=True, return_counts=True
    )
    first = first[size > 1]
    order = np.lexsort((colour[first], -size[cell[first]], part[first]))
    first = first[order]
    return first[np.flatnonzero(np.diff(part[first], prepend=-1))]


def _order(colour: Colours, splits: list[tuple[Ints, Ints]]) -> Ints:
    """Step 3: from the outer parts to the inner ones; what was never split, by colour."""
    n = len(colour)
    place = np.zeros(n, dtype=np.int64)
    content = mix(colour)
    for task, name in splits:
        _, cell, size = np.unique(name, return_inverse=True, return_counts=True)
        total = np.zeros(len(size), dtype=np.uint64)
        np.add.at(total, cell, content[task])
        order = np.lexsort((cell, total[cell], place[task]))
        outer, inner = place[task][order], cell[order]
        position = np.arange(len(task))
        outer_start = np.flatnonzero(np.diff(outer, prepend=-1))
        inner_start = np.flatnonzero(np.diff(inner, prepend=-1))
        before = outer_start[np.searchsorted(outer_start, position, side="right") - 1]
        begin = inner_start[np.searchsorted(inner_start, position, side="right") - 1]
        place[task[order]] = outer + begin - before
    return np.lexsort((colour, place)).astype(np.int64)
