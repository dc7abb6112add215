"""Operations that move elements without changing them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.facts.axes import (
    Spec,
    Untileable,
    axis_roles,
    regrouped,
    roles,
    untiled,
    whole,
)
from orchestrator_core.conductor.facts.number_types import counting_type
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.facts.transfer.rule import RULES, Onward, Rule, through
from orchestrator_core.conductor.ir.node import Node

RESHAPES = ("reshape", "squeeze", "expand_dims")


def _reshape_back(node: Node, spec: Spec) -> list[Spec]:
    _refuse_if(node.params.get("dimensions") is not None and node.name == "reshape", node)
    return [regrouped(spec, node.inputs[0].shape)]


def _reshape_forward(node: Node, place: int, spec: Spec) -> Onward:
    _refuse_if(node.params.get("dimensions") is not None and node.name == "reshape", node)
    return Onward(regrouped(spec, node.output.shape), (spec,))


def _reshape_tile(node: Node, spec: Spec, arrays: Sequence[Any], tile: Tile) -> Any:
    return jnp.reshape(arrays[0], tile.shape(spec))


def _transpose_back(node: Node, spec: Spec) -> list[Spec]:
    permutation = list(node.params["permutation"])
    return [tuple(spec[permutation.index(axis)] for axis in range(len(spec)))]


def _transpose_forward(node: Node, place: int, spec: Spec) -> Onward:
    return Onward(tuple(spec[axis] for axis in node.params["permutation"]), (spec,))


def _broadcast_back(node: Node, spec: Spec) -> list[Spec]:
    pairs = zip(node.inputs[0].shape, node.params["broadcast_dimensions"], strict=True)
    shape = node.output.shape
    first = tuple(spec[to] if size == shape[to] else () for size, to in pairs)
    return [first, *([()] * (len(node.inputs) - 1))]


def _broadcast_out(node: Node, place: int, spec: Spec) -> Spec:
    _refuse_if(place > 0, node)
    made, shape = list(untiled(node.output.shape)), node.output.shape
    for axis, to in enumerate(node.params["broadcast_dimensions"]):
        if node.inputs[0].shape[axis] == shape[to]:
            made[to] = spec[axis]
    return tuple(made)


def _broadcast_tile(node: Node, spec: Spec, arrays: Sequence[Any], tile: Tile) -> Any:
    to = tuple(int(axis) for axis in node.params["broadcast_dimensions"])
    return lax.broadcast_in_dim(jnp.asarray(arrays[0]), tile.shape(spec), to)


def _iota_back(node: Node, spec: Spec) -> list[Spec]:
    return []


def _iota_tile(node: Node, spec: Spec, arrays: Sequence[Any], tile: Tile) -> Any:
    """Positions along one axis, which may be a product of several parts.

    They are counted exactly, and rounded or wrapped to the type once, as XLA does.
    """
    axis, dtype = node.params["dimension"], node.params["dtype"]
    counting = counting_type(node.output.shape[axis])
    at = jnp.zeros((), counting)
    for size, role in spec[axis]:
        step = jnp.arange(size if role is None else tile.size[role], dtype=counting)
        if role is not None:
            step = step + jnp.asarray(tile.offset[role], counting)
        at = at[..., None] * size + step
    return lax.broadcast_in_dim(at.reshape(-1).astype(dtype), tile.shape(spec), (axis,))


def _kept(node: Node, place: int, spec: Spec) -> Spec:
    """The result's spec where axes that change in size are whole, and no other may be tiled."""
    pairs = zip(node.inputs[place].shape, node.output.shape, spec, strict=True)
    made = tuple(axis if size == full else whole(full) for size, full, axis in pairs)
    _refuse_if(roles(made) != roles(spec), node)
    return made


def _slice_back(node: Node, spec: Spec) -> list[Spec]:
    given, made = node.inputs[0].shape, node.output.shape
    changed = [size != full for size, full in zip(given, made, strict=True)]
    _refuse_if(any(axis_roles(a) for a, is_cut in zip(spec, changed, strict=True) if is_cut), node)
    whole_ = untiled(given)
    return [tuple(whole_[k] if changed[k] else spec[k] for k in range(len(spec)))]


def _slice_tile(node: Node, spec: Spec, arrays: Sequence[Any], tile: Tile) -> Any:
    (array,), strides = arrays, node.params["strides"]
    cut = [not axis_roles(axis) for axis in spec]
    starts = [s if c else 0 for s, c in zip(node.params["start_indices"], cut, strict=True)]
    limits = [
        limit if is_cut else size
        for limit, is_cut, size in zip(node.params["limit_indices"], cut, array.shape, strict=True)
    ]
    return lax.slice(array, starts, limits, strides)


def _pad_back(node: Node, spec: Spec) -> list[Spec]:
    config, given = node.params["padding_config"], node.inputs[0].shape
    padded = [tuple(each) != (0, 0, 0) for each in config]
    _refuse_if(any(axis_roles(a) for a, is_one in zip(spec, padded, strict=True) if is_one), node)
    return [tuple(whole(given[k]) if padded[k] else spec[k] for k in range(len(spec))), ()]


def _pad_out(node: Node, place: int, spec: Spec) -> Spec:
    _refuse_if(place > 0, node)
    return _kept(node, place, spec)


def _concatenate_back(node: Node, spec: Spec) -> list[Spec]:
    axis = node.params["dimension"]
    _refuse_if(bool(axis_roles(spec[axis])), node)
    return [
        tuple(whole(each.shape[k]) if k == axis else spec[k] for k in range(len(spec)))
        for each in node.inputs
    ]


def _concatenate_out(node: Node, place: int, spec: Spec) -> Spec:
    axis = node.params["dimension"]
    _refuse_if(bool(axis_roles(spec[axis])), node)
    return (*spec[:axis], whole(node.output.shape[axis]), *spec[axis + 1 :])


def _reverse_back(node: Node, spec: Spec) -> list[Spec]:
    _refuse_if(any(axis_roles(spec[axis]) for axis in node.params["dimensions"]), node)
    return [spec]


def _refuse_if(is_so: bool, node: Node) -> None:
    if is_so:
        raise Untileable(f"{node.name} along a tiled axis")


RULES.update(dict.fromkeys(RESHAPES, Rule(_reshape_back, _reshape_forward, _reshape_tile)))
RULES["transpose"] = Rule(_transpose_back, _transpose_forward)
RULES["broadcast_in_dim"] = Rule(
    _broadcast_back, through(_broadcast_back, _broadcast_out), _broadcast_tile
)
RULES["iota"] = Rule(_iota_back, evaluate=_iota_tile)
RULES["slice"] = Rule(_slice_back, through(_slice_back, _kept), _slice_tile)
RULES["pad"] = Rule(_pad_back, through(_pad_back, _pad_out))
RULES["concatenate"] = Rule(_concatenate_back, through(_concatenate_back, _concatenate_out))
RULES["rev"] = Rule(_reverse_back, through(_reverse_back, lambda node, place, spec: spec))
