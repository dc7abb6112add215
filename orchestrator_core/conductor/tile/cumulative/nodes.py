"""The operations that a running sum along a tiled axis becomes, and how tiles do them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.facts.axes import (
    Spec,
    Untileable,
    axis_roles,
    roles,
    whole,
)
from orchestrator_core.conductor.facts.intervals.rule import INTERVALS
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.facts.transfer.cumulative import FROM_BLOCKS
from orchestrator_core.conductor.facts.transfer.rule import RULES, Onward, Rule, through
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.tile.cumulative.intervals import interval_from_blocks
from orchestrator_core.conductor.tile.cumulative.running import Running
from orchestrator_core.conductor.tile.only_in_tiles import not_alone

TOTALS = "block_totals"

NAMES = frozenset({TOTALS, FROM_BLOCKS})


def totals_of(running: Running, given: Atom, made: Value, source: str) -> Node:
    """What each block comes to."""
    apply = functools.partial(_totals, running, made.dtype)
    return Node(TOTALS, (given,), (made,), apply, {"running": running}, source=source)


def values_of(running: Running, given: Atom, borders: Atom, made: Value, source: str) -> Node:
    """What it is everywhere, from what it comes to at the borders of blocks."""
    params = {"running": running}
    return Node(FROM_BLOCKS, (given, borders), (made,), not_alone, params, source=source)


def _totals(running: Running, dtype: Any, arrays: Sequence[Any]) -> list[Any]:
    return [running.totals(arrays[0].astype(dtype))]


def first_block(running: Running, spec: Spec, tile: Tile) -> Any:
    """Of a tile of the value that is run along; tiles begin where blocks do."""
    (role,) = axis_roles(spec[running.axis]) or (None,)
    offset = 0 if role is None else tile.offset[role]
    return jnp.asarray(offset, jnp.int32) // running.block


def _with_axis(spec: Spec, axis: int, size: int) -> Spec:
    """With one axis as a whole."""
    return (*spec[:axis], whole(size), *spec[axis + 1 :])


def _running_of(node: Node, spec: Spec) -> Running:
    running: Running = node.params["running"]
    axis = spec[running.axis]
    if len(axis) > 1 and axis_roles(axis):
        raise Untileable(f"{running.name} along an axis that is several")
    return running


def _totals_back(node: Node, spec: Spec) -> list[Spec]:
    running = _running_of(node, spec)
    if axis_roles(spec[running.axis]):
        raise Untileable("a tile of blocks")
    return [_with_axis(spec, running.axis, node.inputs[0].shape[running.axis])]


def _totals_forward(node: Node, place: int, spec: Spec) -> Onward:
    running = _running_of(node, spec)
    out = _with_axis(spec, running.axis, node.output.shape[running.axis])
    return Onward(out, (spec,), roles(spec) - roles(out))


def _values_back(node: Node, spec: Spec) -> list[Spec]:
    running = _running_of(node, spec)
    return [spec, _with_axis(spec, running.axis, node.inputs[1].shape[running.axis])]


def _values_out(node: Node, place: int, spec: Spec) -> Spec:
    running = _running_of(node, spec)
    if place == 0:
        return spec
    if axis_roles(spec[running.axis]):
        raise Untileable("a tile of blocks")
    return _with_axis(spec, running.axis, node.output.shape[running.axis])


def _values_tile(node: Node, spec: Spec, arrays: Sequence[Any], tile: Tile) -> Any:
    running, (given, borders) = node.params["running"], arrays
    first, count = first_block(running, spec, tile), running.count(given.shape[running.axis])
    mine = lax.dynamic_slice_in_dim(borders, first, count + 1, running.axis)
    return running.values(given.astype(mine.dtype), mine).astype(node.output.dtype)


RULES[TOTALS] = Rule(_totals_back, _totals_forward, sums=True)
RULES[FROM_BLOCKS] = Rule(_values_back, through(_values_back, _values_out), _values_tile)
INTERVALS[FROM_BLOCKS] = interval_from_blocks
