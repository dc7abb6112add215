"""A side of a pass for one element of each axis that both roles leave alone, such as one head."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.axes import (
    ROLES,
    Axis,
    Part,
    Role,
    Spec,
    Untileable,
    roles,
    tile_shape,
    untiled,
)
from orchestrator_core.conductor.facts.cells import Cells, followed, without_role
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.kernels.lighter import lighter
from orchestrator_core.conductor.kernels.tile_graph import TileGraph
from orchestrator_core.conductor.refused import Refused


@dataclass(frozen=True)
class Cell:
    """Attributes:
    graph: takes cells of the leaves' tiles, of what is accumulated, the first element along both
        roles, and the place along each role of `count`; returns what is accumulated then.
    count: cells along each role. leaves, state: how the whole arrays are cut: by the roles of
        `count` and by those of tiles.
    """

    graph: Graph
    count: dict[Role, int]
    leaves: tuple[Spec, ...]
    state: tuple[Spec, ...]


def cell_of(tiled: TileGraph) -> Cell:
    """Raises:
    Refused: if heads and the like need each other.
    """
    why = "there is nothing to compute apart"
    for seed in _seeds(tiled):
        try:
            return _cell(tiled, _cells(tiled.graph, seed))
        except Untileable as error:
            why = str(error)
    raise Refused(why)


def _seeds(tiled: TileGraph) -> Iterator[Spec]:
    """Specs of the tile that the search begins with: all axes that no role cuts, first each as
    one, then in two as reshapes may have merged them."""
    parts = [part for axis in tiled.seed[1] for part in axis]
    sizes = sorted({d for node in tiled.graph.nodes for i in node.inputs for d in i.shape})
    free = [k for k, (_, role) in enumerate(parts) if role is None]
    yield _seed(tiled, {k: (parts[k][0],) for k in free})
    for k in free:
        size = parts[k][0]
        for first in (d for d in sizes if 1 < d < size and size % d == 0):
            yield _seed(tiled, {j: (parts[j][0],) for j in free} | {k: (first, size // first)})


def _seed(tiled: TileGraph, split: Mapping[int, Sequence[int]]) -> Spec:
    """With a role for each of the sizes that a part is split into."""
    made: list[Axis] = []
    number = 0
    for axis in tiled.seed[1]:
        found: list[Part] = []
        for _, role in axis:
            if role is not None:
                found.append((tiled.size[role], None))
            else:
                found += [(n, f"cell {number}.{m}") for m, n in enumerate(split[number])]
            number += 1
        made.append(tuple(found))
    return tuple(made)


def _cells(graph: Graph, seed: Spec) -> Cells:
    """With those roles that all results have."""
    results, value = graph.outputs[:-1], graph.outputs[-1]
    if not isinstance(value, Value):
        raise Untileable("it is a number")
    while True:
        specs = followed(graph, {value: seed})
        wanted = [(each, _spec(specs, each)) for each in results]
        shared = [roles(spec) for _, spec in wanted]
        lost = roles(seed).difference(frozenset.intersection(*shared))
        if not lost:
            return Cells.of(graph, wanted)
        for role in lost:
            seed = without_role(seed, role)


def _spec(specs: Mapping[Value, Spec], atom: Atom) -> Spec:
    found = None if isinstance(atom, Literal) else specs.get(atom)
    return untiled(atom.shape) if found is None else found


def _cell(tiled: TileGraph, cells: Cells) -> Cell:
    side, count, wanted = tiled.side, cells.count, list(cells.results)
    values = cells.graph.inputs
    specs = [cells.spec_of(value) for value in values]
    kept = len(side.recipe.leaves)
    for value, spec, made in zip(values[kept:], specs[kept:-2], wanted, strict=False):
        if spec != made and any(leaf is value for leaf, _ in cells.leaves):
            raise Untileable("what is accumulated is read by other cells")
    specs[kept:-2] = wanted
    ones = dict.fromkeys(count, 1)

    def program(*arrays: Any) -> list[Any]:
        given, places = arrays[: len(values)], arrays[len(values) :]
        place = Tile(dict(zip(count, places, strict=True)), ones)
        return cells.evaluate(dict(zip(values, given, strict=True)), place)

    at = [_jax.ShapedArray((), np.dtype(np.int32))] * len(count)
    pairs = zip(values, specs, strict=True)
    avals = [_jax.ShapedArray(tile_shape(spec, ones), v.dtype) for v, spec in pairs]
    graph = read(_jax.trace(program, [*avals, *at]))
    ends = [tiled.side.length[role] for role in ROLES] + list(count.values())
    graph = lighter(graph, dict(zip(graph.inputs[-len(ends) :], ends, strict=True)))
    tile = [spec for _, spec in side.recipe.leaves] + [a.spec for a in side.accumulators]
    whole = [
        merged(mine, theirs, tiled.size, side.length)
        for mine, theirs in zip(tile, specs, strict=False)
    ]
    return Cell(graph, count, tuple(whole[:kept]), tuple(whole[kept:]))


def merged(tile: Spec, cell: Spec, size: Mapping[Role, int], length: Mapping[Role, int]) -> Spec:
    """How a whole array is cut by both: `tile` has the roles of tiles, `cell` those of cells within
    a tile.

    Raises:
        Untileable: if they cut the same part.
    """
    return tuple(
        _merged([(n if r is None else size[r], r) for n, r in mine], list(theirs), length)
        for mine, theirs in zip(tile, cell, strict=True)
    )


def _merged(mine: list[Part], theirs: list[Part], length: Mapping[Role, int]) -> Axis:
    made: list[Part] = []
    mine, theirs = mine[::-1], theirs[::-1]
    while mine and theirs:
        (n, r), (m, s) = mine.pop(), theirs.pop()
        step = math.gcd(n, m)
        if step not in (n, m) or (r and n != step) or (s and m != step) or (r and s):
            raise Untileable("tiles and heads cut the same axis")
        made.append((step if r is None else length[r], r or s))
        mine += [(n // step, r)] if n != step else []
        theirs += [(m // step, s)] if m != step else []
    if mine or theirs:
        raise Untileable("tiles and heads cut the same axis")
    return tuple(made)
