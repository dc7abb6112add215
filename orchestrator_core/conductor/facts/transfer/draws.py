"""Random bits: an element's are those of its key and of its position, so a tile draws its own.

J. Salmon and others, "Parallel random numbers: as easy as 1, 2, 3" (2011). The bits are the very
ones that JAX draws for the whole. Keys of other generators draw the whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.axes import Spec, Untileable, roles, untiled
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.facts.transfer.elementwise import back
from orchestrator_core.conductor.facts.transfer.rule import RULES, Rule, through
from orchestrator_core.conductor.ir.node import Node

MOST = 2**32
"""Elements of which each has a number of 32 bits."""


def _bits_back(node: Node, spec: Spec) -> list[Spec]:
    rank = len(node.inputs[0].shape)
    if roles(spec[:rank]):
        raise Untileable("random bits of several keys, tiled along the keys")
    by_position = _jax.draws_by_position(node.inputs[0].aval, node.context)
    if math.prod(node.params["shape"]) > MOST or not by_position:
        raise Untileable("random bits that depend on all that is drawn with them")
    return [untiled(node.inputs[0].shape)]


def _bits_tile(node: Node, spec: Spec, arrays: Sequence[Any], tile: Tile) -> Any:
    rank, shape = len(node.inputs[0].shape), node.params["shape"]
    key = jax.random.key_data(arrays[0])
    key = key.reshape((*key.shape[:-1], *[1] * len(shape), 2))
    low = jnp.zeros((1,) * len(spec), jnp.uint32)
    for axis, size in enumerate(shape):
        low = low * jnp.uint32(size) + _positions(spec, rank + axis, tile)
    first, second = _jax.threefry(key, jnp.zeros_like(low), low)
    return _in_words(first, second, node.params["bit_width"])


def _positions(spec: Spec, axis: int, tile: Tile) -> Any:
    """Along one axis, which may be a product of several parts; of rank and type of `low`."""
    at = jnp.zeros((), jnp.uint32)
    for size, role in spec[axis]:
        step = jnp.arange(size if role is None else tile.size[role], dtype=jnp.uint32)
        if role is not None:
            step = step + jnp.asarray(tile.offset[role]).astype(jnp.uint32)
        at = at[..., None] * jnp.uint32(size) + step
    return lax.expand_dims(at.reshape(-1), [k for k in range(len(spec)) if k != axis])


def _in_words(first: Any, second: Any, width: int) -> Any:
    """As many bits as asked for, of two words of 32."""
    if width == 64:
        return (first.astype(jnp.uint64) << jnp.uint64(32)) | second.astype(jnp.uint64)
    return (first ^ second).astype(f"uint{width}")


def _bitcast_back(node: Node, spec: Spec) -> list[Spec]:
    if node.inputs[0].shape != node.output.shape:
        raise Untileable("bits in words of another size")
    return back(node, spec)


def _bitcast_out(node: Node, place: int, spec: Spec) -> Spec:
    _bitcast_back(node, spec)
    return spec


RULES["random_bits"] = Rule(_bits_back, evaluate=_bits_tile)
RULES["bitcast_convert_type"] = Rule(_bitcast_back, through(_bitcast_back, _bitcast_out))
