"""What a side of a pass does with one tile, as a graph.

A tile may stick out of the arrays. What lies outside is read as zero, and is replaced by what
changes nothing before it is accumulated.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.axes import ROLES, Role, Spec, roles, tile_shape
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.value import Literal
from orchestrator_core.conductor.refused import Refused
from orchestrator_core.conductor.tile.accumulators import (
    Accumulator,
    Reduced,
    RunningMax,
    Summed,
    Tiles,
)
from orchestrator_core.conductor.tile.neutral import neutral
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.recipe import Key, Recipe, Wanted


@dataclass(frozen=True)
class TileGraph:
    """Attributes:
    side: whose. size: elements of a tile along each role.
    graph: takes the tiles of the recipe's leaves, what is accumulated, and the first element along
        both roles; returns what is accumulated then, and the tile `seed`.
    """

    side: Pass
    size: dict[Role, int]
    seed: Key
    graph: Graph


def tile_graph(side: Pass, size: dict[Role, int], recipe: Recipe | None = None) -> TileGraph:
    """Of a side in tiles of a size.

    Args:
        recipe: in place of the side's, with the same leaves and results.
    """
    recipe = side.recipe if recipe is None else recipe
    count = len(recipe.leaves)
    pairwise = [step.made for step in recipe.steps if len(roles(step.spec)) == 2]
    pairwise += [key for key in recipe.leaves if len(roles(key[1])) == 2]
    if not pairwise:
        raise Refused("nothing in it is pairwise")
    seed = max(pairwise, key=lambda key: math.prod(tile_shape(key[1], size)))

    def program(*arrays: Any) -> list[Any]:
        place = Tile(dict(zip(ROLES, arrays[-2:], strict=True)), size)
        leaves = dict(zip(recipe.leaves, arrays[:count], strict=True))
        known = dict(recipe.tiles(leaves.__getitem__, place))
        return [*_added(side, known, place, arrays[count:-2]), known[seed]]

    at = [_jax.ShapedArray((), np.dtype(np.int32))] * 2
    avals = [_aval(spec, value.dtype, size) for value, spec in recipe.leaves]
    avals += [_aval(each.spec, each.dtype, size) for each in side.accumulators]
    graph = read(_jax.trace(program, [*avals, *at]))
    return TileGraph(side, size, seed, _without_barriers(graph))


def _without_barriers(graph: Graph) -> Graph:
    """They keep XLA from moving code, which it cannot inside a kernel."""
    nodes = []
    for node in graph.nodes:
        is_barrier = node.name == "optimization_barrier"
        pairs = zip(node.inputs, node.outputs, strict=True) if is_barrier else ()
        nodes += [Node("copy", (a,), (b,), list) for a, b in pairs] if is_barrier else [node]
    return dataclasses.replace(graph, nodes=tuple(nodes))


def _aval(spec: Spec, dtype: Any, size: Mapping[Role, int]) -> Any:
    return _jax.ShapedArray(tile_shape(spec, size), dtype)


def _added(side: Pass, known: Mapping[Key, Any], place: Tile, state: Sequence[Any]) -> list[Any]:
    """What is accumulated with one more tile."""
    made, shifts = list(state), dict[Any, tuple[Any, Any]]()
    for k, each in enumerate(side.accumulators):
        tiles = Tiles(_inside(side, each, known, place), place, shifts)
        made[k] = each.added(state[k], tiles)
        if isinstance(each, RunningMax):
            shifts[each] = each.shift(state[k], made[k])
    return made


def _inside(
    side: Pass, each: Accumulator, known: Mapping[Key, Any], place: Tile
) -> Mapping[Key, Any]:
    """The tiles that it takes, with what changes nothing outside of the arrays."""
    ends = [
        role
        for role in ROLES
        if role not in roles(each.spec) and side.length[role] % place.size[role]
    ]
    taken = {wanted: known[wanted] for wanted in each.wanted if not isinstance(wanted, Literal)}
    for role in ends:
        for key, array in taken.items():
            if role in roles(key[1]):
                inside = is_inside(key[1], role, side.length[role], place)
                taken[key] = jnp.where(inside, array, jnp.asarray(_fill(each, key), array.dtype))
    return taken


def is_inside(spec: Spec, role: Role, length: int, place: Tile) -> Any:
    parts = [(k, size, r) for k, axis in enumerate(spec) for size, r in axis]
    shape = [place.size[r] if r is not None else size for _, size, r in parts]
    (at,) = (k for k, (_, _, r) in enumerate(parts) if r == role)
    step = jnp.arange(shape[at], dtype=jnp.int32).reshape([-1] + [1] * (len(shape) - at - 1))
    inside = step + jnp.asarray(place.offset[role], jnp.int32) < length
    return jnp.broadcast_to(inside, shape).reshape(place.shape(spec))


def _fill(each: Accumulator, wanted: Wanted) -> Any:
    """What changes nothing."""
    if isinstance(each, RunningMax):
        return -np.inf
    if isinstance(each, Summed):
        return _fill_of_sum(each, wanted)
    if isinstance(each, Reduced):
        return neutral(each.kind, np.dtype(each.boundary.node.inputs[0].dtype))
    raise Refused(f"{type(each).__name__} is not possible inside a kernel")


def _fill_of_sum(each: Summed, wanted: Wanted) -> Any:
    """Of an exponent what makes zero; of a mask what lets nothing through; else zero."""
    if each.shift is not None and wanted == each.shift.exponent:
        return -np.inf
    terms = [term for product in each.plan.products for term in product.terms]
    return int(any(term.kind == "unless" for term in terms if term.key == wanted))
