"""Colour refinement over a directed acyclic graph (Weisfeiler and Leman 1968).

Two tasks keep the same colour only while nothing below or above tells them apart. One sweep down
the levels and one up replace the many rounds of the general method: however deep the graph, each
edge is looked at twice in a pass, and two or three passes are the rule.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.mixing import GOLDEN, MASK, Colours, mix, mix_one
from orchestrator_core.graph.task_graph import Ints, TaskGraph

_NARROW = 16
"""Below so many edges a level, Python's own loop beats an array operation for each level."""

_LOOP_EFFORT, _LEVEL_EFFORT = 10, 1000
"""What an edge in Python's loop, and a level of array operations, cost in edges of the latter."""


def levels(graph: TaskGraph) -> Ints:
    """(n,) the number of edges of the longest path that ends in each task."""
    level = [0] * len(graph)
    ptr, consumer = graph.successor_ptr.tolist(), graph.consumer.tolist()
    for task in graph.topological.tolist():
        below = level[task] + 1
        for k in range(ptr[task], ptr[task + 1]):
            if level[consumer[k]] < below:
                level[consumer[k]] = below
    return np.array(level, dtype=np.int64)


class Sweep:
    """Edges in one direction, ready to carry colours from their sources to their targets.

    Level by level: a target's new colour takes in the new colours of all its sources.
    """

    def __init__(self, source: Ints, target: Ints, weight: Colours, level: Ints) -> None:
        order = np.lexsort((target, level[target]))
        self._source, self._weight = source[order], weight[order]
        target = target[order]
        self._start = np.flatnonzero(np.diff(target, prepend=-1))
        self._target = target[self._start]
        depth = level[self._target]
        self._level_start = np.append(np.flatnonzero(np.diff(depth, prepend=-1)), len(depth))
        self._narrow = len(source) < _NARROW * (len(self._level_start) - 1)
        n_levels = len(self._level_start) - 1
        self.effort = len(source) * _LOOP_EFFORT if self._narrow else len(source)
        self.effort += 0 if self._narrow else n_levels * _LEVEL_EFFORT

    def __call__(self, colour: Colours) -> Colours:
        """The refined colours; those of equal history stay equal, in any numbering of the tasks."""
        new = mix(colour * np.uint64(GOLDEN))
        if self._narrow:
            return self._one_by_one(new)
        edge_start = np.append(self._start, len(self._source))
        for a, b in itertools.pairwise(self._level_start.tolist()):
            first, last = edge_start[a], edge_start[b]
            carried = new[self._source[first:last]] * self._weight[first:last]
            target = self._target[a:b]
            new[target] = mix(new[target] + np.add.reduceat(carried, self._start[a:b] - first))
        return new

    def _one_by_one(self, colour: Colours) -> Colours:
        new: list[int] = colour.tolist()
        source, weight = self._source.tolist(), self._weight.tolist()
        start = [*self._start.tolist(), len(source)]
        for k, target in enumerate(self._target.tolist()):
            total = new[target]
            for edge in range(start[k], start[k + 1]):
                total += new[source[edge]] * weight[edge]
            new[target] = mix_one(total & MASK)
        return np.array(new, dtype=np.uint64)


class Refiner:
    """Refines colours of k tasks along some edges, until nothing more can be told apart."""

    def __init__(self, producer: Ints, consumer: Ints, weight: Colours, level: Ints) -> None:
        height = level.max(initial=0) - level
        self._down = Sweep(producer, consumer, weight, level)
        self._up = Sweep(consumer, producer, weight, height)
        self.effort = 0

    def __call__(self, colour: Colours, part: Ints) -> Colours:
        """The stable colours; those of different parts need not differ from each other.

        Stable: within a part, tasks of one colour have as many producers, and consumers, of each
        colour.
        """
        before = count_classes(colour, part)
        while True:
            colour = self._up(self._down(colour))
            self.effort += self._down.effort + self._up.effort
            classes = count_classes(colour, part)
            if classes in (before, len(colour)):
                return colour
            before = classes


def count_classes(colour: Colours, part: Ints) -> int:
    """How many different colours there are, counted in each part by itself."""
    keys = np.sort(class_keys(colour, part))
    return int(np.count_nonzero(keys[1:] != keys[:-1])) + bool(len(keys))


def class_keys(colour: Colours, part: Ints) -> NDArray[np.uint64]:
    """A number for each pair of part and colour."""
    return mix(colour ^ mix(part.astype(np.uint64) + np.uint64(GOLDEN)))
