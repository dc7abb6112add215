"""Parallel scans of which a derivative was taken: both done as loops.

What reverse-mode differentiation makes of the shuffles of a parallel scan is another such program,
which reads values from within the first. It is found by what it computes: with the same random
numbers, values of the program that are what the derivative of the loop is, in 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.recurrence.sample import Cell, Sample
from orchestrator_core.conductor.recurrence.soup import Soup
from orchestrator_core.conductor.recurrence.splice import spliced
from orchestrator_core.conductor.recurrence.unparalleled import looped

SAME = 1e-9
"""So close in 64 bits, relative to the largest, numbers are the same."""

MOST = 8
"""Values that are tried as what comes back to the result."""


@dataclass(frozen=True)
class Derived:
    """Attributes:
    came: what came back to the result. went: by part, what goes back to its array.
    """

    came: Value
    went: Mapping[int, Value]


def derived(graph: Graph, soup: Soup) -> Derived | None:
    """The derivative of a parallel scan in the graph; None if there is none that is proven."""
    if len(soup.results) != 1 or soup.constants:
        return None
    (result,) = soup.results.values()
    axis = soup.arrays[0][1]
    if any(along != axis for _, along in soup.arrays):
        return None
    for came in _candidates(graph, result):
        went = _went(graph, soup, result, came)
        if went:
            return Derived(came, went)
    return None


def in_loops(graph: Graph, soup: Soup, found: Derived, source: str = "") -> Graph:
    """The graph in which a loop makes the results, and another its derivative."""
    parts, results = list(soup.read), list(soup.results.values())
    arrays = [soup.arrays[part][0] for part in parts]

    def function(*given: Any) -> list[Any]:
        made, back = jax.vjp(lambda *x: looped(soup, x), *given[:-1])
        back_to = dict(zip(parts, back([given[-1]]), strict=True))
        return [*made, *(back_to[part] for part in found.went)]

    outputs = [*results, *found.went.values()]
    return spliced(graph, function, [*arrays, found.came], outputs, source)


def _candidates(graph: Graph, result: Value) -> Iterator[Value]:
    """Values like the result that shuffles read."""
    found = [
        value
        for node in graph.nodes
        for value in node.outputs
        if value is not result and value.shape == result.shape and value.dtype == result.dtype
        if any(reader.name in ("pad", "slice") for reader in graph.consumers.get(value, ()))
    ]
    yield from found[-1 : -MOST - 1 : -1]


def _went(graph: Graph, soup: Soup, result: Value, came: Value) -> dict[int, Value]:
    """What goes back to each array of which that can be told."""
    random, axis = np.random.default_rng(7), soup.arrays[0][1]
    values = list(dict.fromkeys([*(soup.arrays[part][0] for part in soup.parts), came]))
    if came in values[:-1]:
        return {}
    given = {value: _near_one(random, soup.length, value.dtype) for value in values}
    forward = Sample(axis, {value: given[value] for value in values[:-1]})
    both = Sample(axis, given)
    for node in graph.nodes:
        forward.take(node)
        both.take(node)
    if result not in forward.known:
        return {}
    wanted = forward.pulled_back(result, given[came])
    return {
        part: found
        for part in soup.parts
        if (found := _like(both, given, soup.arrays[part][0], wanted)) is not None
    }


def _like(
    sample: Sample, given: Mapping[Value, Cell], array: Value, wanted: Mapping[Value, Cell]
) -> Value | None:
    """The last value that is what should go back to an array."""
    expected = wanted.get(array)
    if expected is None:
        return None
    made: Sequence[Node] = sample.done
    for value in (output for node in reversed(made) for output in node.outputs):
        if value.shape == array.shape and value.dtype == array.dtype and value not in given:
            error = np.max(np.abs(sample.known[value] - expected))
            if error <= SAME * np.max(np.abs(expected)):
                return value
    return None


def _near_one(random: np.random.Generator, length: int, dtype: Any) -> Cell:
    """Numbers of which products of many are neither large nor small."""
    made = 1 + 0.03 * random.normal(size=length)
    turned = made * np.exp(1j * random.normal(size=length))
    return turned if np.issubdtype(dtype, np.complexfloating) else made
