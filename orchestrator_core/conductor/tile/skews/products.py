"""Products with what there is for each diagonal, of which a tile needs no more than its own.

``y_ij = sum_d a_id r_(j-i),d`` of queries and embeddings of distances, as in Dai and others,
"Transformer-XL" (2019), and its two gradients, ``sum_j y_ij r_(j-i),d`` and, along each diagonal,
``sum_(i,j) y_ij a_id``. None of them needs an array of all rows and all distances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.facts.axes import Axis, Spec, Untileable, roles, whole
from orchestrator_core.conductor.facts.intervals.arrays import xp
from orchestrator_core.conductor.facts.intervals.interval import Interval
from orchestrator_core.conductor.facts.intervals.rule import INTERVALS
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.facts.transfer.rule import RULES, Onward, Rule
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.oriented import product
from orchestrator_core.conductor.tile.only_in_tiles import not_alone
from orchestrator_core.conductor.tile.skews.window import Window

SKEWED, BY_ROWS, BY_DIAGONALS = "skewed_product", "product_by_rows", "product_by_diagonals"

NAMES = frozenset({SKEWED, BY_ROWS, BY_DIAGONALS})


def node_of(
    name: str, like: Node, inputs: Sequence[Atom], output: Value, params: Mapping[str, Any]
) -> Node:
    """In the place of a product.

    Args:
        params: the `skew`; the `side` that the operand with the rows is on; the axes of `rows` and
            `columns` of the pairwise value, which is the result of one and the operand of the other
            two; the axis of the `table`: of what there is for each diagonal, of the other operand
            or, where it is summed, of the result.
    """
    kept = {
        each: like.params[each]
        for each in ("dimension_numbers", "precision", "preferred_element_type")
    }
    return Node(name, tuple(inputs), (output,), not_alone, {**kept, **params}, source=like.source)


def window_of(node: Node, spec: Spec, tile: Tile) -> Window:
    """Args:
    spec: of the pairwise value.
    """
    axes = node.params["rows"], node.params["columns"]
    return Window.of(node.params["skew"], spec, axes, tile)


def _product(node: Node, operands: Sequence[Any], dtype: Any) -> Any:
    """XLA turns what lies in diagonals, and its library for CPUs then knows no sums in 32 bits of
    factors in 16: running such a product fails (seen in 0.10.2)."""
    if this_device().platform == "cpu":
        operands = [each.astype(jnp.promote_types(each.dtype, dtype)) for each in operands]
    left, right = operands
    return product(
        left,
        right,
        node.params["dimension_numbers"],
        precision=node.params["precision"],
        preferred_element_type=dtype,
    )


def rows_of(node: Node, operands: Sequence[Any], spec: Spec, tile: Tile, dtype: Any) -> Any:
    """What a tile adds to the sums of its rows."""
    side = node.params["side"]

    def made(window: Window) -> Any:
        given = list(operands)
        given[side] = window.in_diagonals(operands[side])
        given[1 - side] = window.cut(operands[1 - side], node.params["table"])
        return _product(node, given, dtype)

    return _where_met(window_of(node, spec, tile), made)


def with_diagonals(node: Node, table: Any, operands: Sequence[Any], spec: Spec, tile: Tile) -> Any:
    """The sums along diagonals with those of a tile."""
    side, window = node.params["side"], window_of(node, spec, tile)

    def made() -> Any:
        given = list(operands)
        given[side] = window.in_diagonals(operands[side])
        return window.added(table, _product(node, given, table.dtype), node.params["table"])

    return made() if window.skew.is_total else lax.cond(window.is_met(), made, lambda: table)


def _where_met(window: Window, made: Callable[[Window], Any]) -> Any:
    """Zero where a tile has nothing but what lies beyond the ends."""
    if window.skew.is_total:
        return made(window)
    like = jax.eval_shape(lambda: made(window))
    return lax.cond(
        window.is_met(), lambda: made(window), lambda: jnp.zeros(like.shape, like.dtype)
    )


def _skewed_tile(node: Node, spec: Spec, arrays: Sequence[Any], tile: Tile) -> Any:
    side = node.params["side"]

    def made(window: Window) -> Any:
        given = list(arrays)
        given[1 - side] = window.cut(arrays[1 - side], node.params["table"])
        return window.in_columns(_product(node, given, node.params["preferred_element_type"]))

    return _where_met(window_of(node, spec, tile), made)


def _skewed_back(node: Node, spec: Spec) -> list[Spec]:
    _refuse_if_merged(node, spec)
    made = list(RULES["dot_general"].back(node, spec))
    other = 1 - node.params["side"]
    made[other] = _with_table(made[other], node, node.inputs[other])
    return made


def _summed_forward(node: Node, place: int, spec: Spec) -> Onward:
    """Of a pairwise value, what a tile of it adds to."""
    side = node.params["side"]
    if place != side:
        raise Untileable(f"{node.name} of a tiled table")
    _refuse_if_merged(node, spec)
    onward = RULES["dot_general"].forward(node, place, spec)
    out, inputs = onward.out, list(onward.inputs)
    if node.name == BY_DIAGONALS:
        out = _with_table(out, node, node.output)
    else:
        inputs[1 - side] = _with_table(inputs[1 - side], node, node.inputs[1 - side])
    return Onward(out, tuple(inputs), roles(spec) - roles(out))


def _refuse_if_merged(node: Node, spec: Spec) -> None:
    if any(len(spec[node.params[each]]) > 1 for each in ("rows", "columns")):
        raise Untileable(f"{node.name} along an axis that is several")


def _with_table(spec: Spec, node: Node, table: Atom) -> Spec:
    """What there is for each diagonal is there as a whole."""
    axis = node.params["table"]
    axes: list[Axis] = list(spec)
    axes[axis] = whole(table.shape[axis])
    return tuple(axes)


def _interval(node: Node, inputs: Sequence[Interval]) -> Interval:
    """That of a product, or zero."""
    made = INTERVALS["dot_general"](node, inputs)
    low, high = xp.minimum(made.low, 0.0), xp.maximum(made.high, 0.0)
    return Interval(low, high, made.sound)


RULES[SKEWED] = Rule(_skewed_back, evaluate=_skewed_tile)
RULES[BY_ROWS] = RULES[BY_DIAGONALS] = Rule(forward=_summed_forward, sums=True)
INTERVALS[SKEWED] = _interval
