"""A loop over time whose body works on parts of what is carried, each for itself.

Such as the channels of a state space model: the body is then done by many programs side by side,
each with its own part of the carry. A result that is a sum over all parts is returned in parts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator_core.conductor.facts.axes import (
    Axis,
    Role,
    Spec,
    Untileable,
    full_shape,
    untiled,
)
from orchestrator_core.conductor.facts.cells import Cells, followed
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.kernels.stream_sums import sums_of, wanted_of, with_parts
from orchestrator_core.conductor.refused import Refused

PROGRAMS = 264
"""Two for each multiprocessor of a large GPU."""

LEAST_PART, MOST_PART = 32, 128
"""Elements that a program has side by side, so that it reads memory in one go."""


@dataclass(frozen=True)
class Stream:
    """Attributes:
    body: as it was, but sums over parts have an axis for these before all others.
    cells: the body for one part. carries: how many inputs and outputs are carried, first come
        `consts`. sums: which of the outputs are sums.
    """

    body: Graph
    cells: Cells
    consts: int
    carries: int
    sums: frozenset[int]

    @property
    def count(self) -> dict[Role, int]:
        """Parts along each role."""
        return self.cells.count


def stream_of(body: Graph, consts: int, carries: int) -> Stream:
    """Of a loop's body, whose inputs are constants, what is carried, and slices.

    Raises:
        Refused: if its parts need each other.
    """
    why = "no part of what is carried goes its own way"
    seeds = list(_seeds(body, consts, carries))
    if not seeds or seeds[0][0].size <= MOST_PART:  # one program is enough
        return _stream(body, consts, carries, {})
    for seed, spec in seeds:
        try:
            made = _stream(body, consts, carries, {seed: spec})
            if made.count:
                return made
        except Untileable as error:
            why = str(error)
    raise Refused(why)


def _seeds(body: Graph, consts: int, carries: int) -> Iterator[tuple[Value, Spec]]:
    """The largest carry, all of its axes in parts, then fewer."""
    seed = max(body.inputs[consts : consts + carries], key=lambda value: value.size)
    long = [k for k, size in enumerate(seed.shape) if size > 1]
    for kept in range(len(long), 0, -1):
        for axes in itertools.combinations(long, kept):
            yield seed, in_parts(seed.shape, axes)


def in_parts(shape: Sequence[int], axes: Sequence[int]) -> Spec:
    """Some axes in parts, so that a program has elements that lie side by side, and there are
    enough programs."""
    made: list[Axis] = list(untiled(shape))
    wanted = math.prod(shape) // PROGRAMS
    left = min(MOST_PART, max(LEAST_PART, 1 << max(wanted, 1).bit_length()))
    for k in reversed(range(len(shape))):
        size = _part(shape[k], left) if k in axes else shape[k]
        left = max(1, left // size)
        if k in axes and size < shape[k]:
            rest: Axis = ((size, None),) if size > 1 else ()
            made[k] = ((shape[k] // size, f"cell {k}"), *rest)
    return tuple(made)


def _part(length: int, most: int) -> int:
    """All of an axis, or the largest part of it that is a power of two."""
    if length <= most:
        return length
    return max(1 << k for k in range(most.bit_length()) if length % (1 << k) == 0)


def _stream(body: Graph, consts: int, carries: int, seeds: Mapping[Value, Spec]) -> Stream:
    specs = _linked(body, body.inputs[consts : consts + carries], dict(seeds))
    sums = {k: node for k, node in sums_of(body, specs).items() if k >= carries}
    made = with_parts(body, sums, specs)
    cells = Cells.of(made, wanted_of(made, body, specs, sums))
    known = {value: cells.spec_of(value) for value in made.inputs}
    taken = made.inputs[consts : consts + carries]
    for value, spec in zip(taken, cells.results, strict=False):
        if known[value] not in (spec, untiled(value.shape)) or value.shape != full_shape(spec):
            raise Untileable("the parts of what is carried need each other")
    return Stream(made, cells, consts, carries, frozenset(sums))


def _linked(body: Graph, taken: Sequence[Value], seeds: dict[Value, Spec]) -> dict[Value, Spec]:
    """Specs of all values, those of what is carried on being those of what is taken."""
    while True:
        specs = followed(body, seeds)
        new = {}
        for value, after in zip(taken, body.outputs, strict=False):
            if isinstance(after, Value) and after in specs and value not in specs:
                new[value] = specs[after]
            if isinstance(after, Value) and value in specs and after not in specs:
                new[after] = specs[value]
        if not new:
            return specs
        seeds = {**seeds, **new}
