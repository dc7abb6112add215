"""Sums of which one element is all that counts, as of a softmax that is 1 at one place.

What is read off another sum is rounded otherwise than the sum itself. That matters where the sum is
then subtracted from its only element, which gives exactly zero: in the backward of attention where
a row's weights are 1, 0, 0, .... So where all exponentials of a row add up to what the largest of
them is, the tile that has it takes the sum from its own elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.axes import Spec
from orchestrator_core.conductor.facts.intervals.arithmetic import sum_of
from orchestrator_core.conductor.facts.intervals.interval import Interval
from orchestrator_core.conductor.facts.intervals.rule import INTERVALS
from orchestrator_core.conductor.facts.intervals.shapes import join
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.facts.transfer.rule import RULES, Rule
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.tile.accumulators.base import summing_type
from orchestrator_core.conductor.tile.plans import Label, Labels, Plan, Sole
from orchestrator_core.conductor.tile.recipe import Step, key_of
from orchestrator_core.conductor.tile.region import Boundary
from orchestrator_core.conductor.tile.terms import Term, along, labelled

NAME = "sum_of_one"


def sole_of(
    boundary: Boundary,
    core: Sequence[tuple[Term, Labels]],
    out: tuple[Label, ...],
    plans: Mapping[Node, Plan],
) -> Sole | None:
    """Of a sum whose summand has these factors; None if none is an exponential that is also summed
    alone."""
    for term, labels in core:
        for plan in plans.values() if term.is_exponential else ():
            total = _total_labels(plan, term, labels, [other.looks for other, _ in core])
            if total is not None and _real(total) == _real(out):
                like = boundary.node.output
                kind = summing_type(term.value.dtype)
                limit = Value(_jax.ShapedArray(like.shape, kind))
                return Sole(term, plan.node, tuple(labels), total, Value(like.aval), limit)
    return None


def _real(labels: Sequence[Label]) -> set[str]:
    return {label for label in labels if label is not None}


def _total_labels(
    plan: Plan, term: Term, labels: Labels, core: Sequence[object]
) -> tuple[Label, ...] | None:
    """Of the result of a sum of the exponential, masked no more than in the core."""
    if plan.node.name != "reduce_sum" or plan.exchange is not None or not plan.products:
        return None
    (product,) = plan.products
    looks = [each.looks for each in product.terms]
    masks = [each for each in product.terms if not each.is_exponential]
    if term.looks not in looks or any(each.kind == "mul" for each in masks):
        return None
    if any(each not in core for each in looks):
        return None
    mine = product.terms[looks.index(term.looks)]
    operand = labelled(mine.path, labels)
    axes = set(plan.node.params["axes"])
    return None if operand is None else tuple(x for k, x in enumerate(operand) if k not in axes)


def limit_of(sole: Sole, out: tuple[Label, ...], shift: Any, total: Any) -> Any:
    """The running maximum where the sum of exponentials is 1, which the largest is; elsewhere what
    no exponent reaches."""
    shape = sole.limit.shape
    largest = _arranged(shift, sole.shift_labels, out).reshape(shape)
    alone = _arranged(total, sole.total_labels, out).reshape(shape) == 1
    return jnp.where(alone, largest, jnp.inf).astype(sole.limit.dtype)


def _arranged(array: Any, labels: Sequence[Label], out: Sequence[Label]) -> Any:
    """With the axes in another order, without those of one element."""
    kept = [k for k, label in enumerate(labels) if label is not None and label in out]
    named = [labels[k] for k in kept]
    array = array.reshape([array.shape[k] for k in kept])
    return jnp.transpose(array, [named.index(label) for label in out if label is not None])


def step_of(boundary: Boundary, sole: Sole, spec: Spec) -> Step | None:
    """What takes the place of the sum in tiles; None where they run along it the other way."""
    if spec != boundary.out:
        return None
    given, node = boundary.inputs[0], boundary.node
    inputs = (sole.again, sole.limit, sole.exponential.value, node.inputs[0])
    summand = key_of(node.inputs[0], given)
    keys = ((sole.again, spec), (sole.limit, spec), sole.exponential.key, summand)
    params = {"path": sole.exponential.path, "axes": node.params["axes"]}
    return Step(Node(NAME, inputs, node.outputs, list, params), (node.output, spec), keys, late=2)


def _tile(node: Node, spec: Spec, arrays: Sequence[Any], tile: Tile) -> Any:
    sums, limit, *given = arrays
    if len(given) == 2:
        return _where_alone(node, sums, limit, given, tile)
    (late,) = given
    return lax.cond(
        limit.min() < jnp.inf,
        lambda: _where_alone(node, sums, limit, late(), tile),
        lambda: sums,
    )


def _where_alone(node: Node, sums: Any, limit: Any, given: Sequence[Any], tile: Tile) -> Any:
    (exponents, summands), axes = given, node.params["axes"]
    exponents = along(node.params["path"], exponents.astype(limit.dtype), dict(tile.size))
    # A sum that is not finite is so by other elements too: 0 times infinity where a weight is 0.
    is_here = (jnp.max(exponents, axes) >= limit) & jnp.isfinite(sums)
    return jnp.where(is_here, jnp.sum(summands, axes).astype(sums.dtype), sums)


def _interval(node: Node, inputs: Sequence[Interval]) -> Interval:
    return join(node, [inputs[0], sum_of(node, node.inputs[3].shape, inputs[3])])


RULES[NAME] = Rule(evaluate=_tile)
INTERVALS[NAME] = _interval
