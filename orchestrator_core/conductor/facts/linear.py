"""The domain of ``A c + b``: which values are linear in a carry, and where A only scales.

A fact is the axis of the carry that each axis of a value goes along, or None where all its elements
along an axis have the same element of the carry; `DENSE` where A is any matrix. A value along whose
axes a carry is not spread has its elements scaled at most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import jax.numpy as jnp

from orchestrator_core.conductor.facts.affine import Broken, Fact, Kind, Rule
from orchestrator_core.conductor.facts.number_types import is_precise, keeps_all_bits
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value


@dataclass(frozen=True)
class Along:
    """Elements of a carry, scaled: for each axis of the value the carry's axis, or None."""

    axes: tuple[int | None, ...]


@dataclass(frozen=True)
class Dense:
    """Sums of any elements of a carry, scaled."""


DENSE = Dense()


class Linear:
    """The domain."""

    kind = Kind.LINEAR

    def seed(self, carry: Value) -> Fact:
        return Along(tuple(range(len(carry.shape))))

    def rule(self, node: Node) -> Rule | None:
        rule = RULES.get(node.name)
        return None if rule is None else lambda node, given: _or_broken(rule, node, given)

    def proves(self, fact: Fact, carry: Value) -> bool:
        return not isinstance(fact, Broken)

    def is_elementwise(self, fact: Fact, carry: Value) -> bool:
        if not isinstance(fact, Along):
            return False
        pairs = zip(fact.axes, range(len(carry.shape)), carry.shape, strict=True)
        return all(axis == k or size == 1 for axis, k, size in pairs)


def _or_broken(rule: Rule, node: Node, given: Sequence[Fact]) -> Fact:
    broken = next((fact for fact in given if isinstance(fact, Broken)), None)
    return broken or rule(node, given) or Broken(node)


def _spread(fact: Fact, given: Atom, made: Value) -> Fact:
    """Of an operand, as the result's shape shows it."""
    if fact == DENSE or not isinstance(fact, Along):
        return fact
    if len(given.shape) < len(made.shape):
        return Along((None,) * len(made.shape))
    pairs = zip(fact.axes, given.shape, made.shape, strict=True)
    return Along(tuple(axis if size == full else None for axis, size, full in pairs))


def _together(facts: Sequence[Fact]) -> Fact:
    """Of a sum."""
    found = [fact for fact in facts if fact is not None]
    return found[0] if all(fact == found[0] for fact in found) else DENSE


def _sum(node: Node, given: Sequence[Fact]) -> Fact:
    pairs = zip(given, node.inputs, strict=True)
    return _together([_spread(fact, each, node.output) for fact, each in pairs])


def _product(node: Node, given: Sequence[Fact]) -> Fact:
    return None if all(fact is not None for fact in given) else _sum(node, given)


def _quotient(node: Node, given: Sequence[Fact]) -> Fact:
    exact = jnp.issubdtype(node.output.dtype, jnp.inexact)
    return _sum(node, given) if given[1] is None and exact else None


def _convert(node: Node, given: Sequence[Fact]) -> Fact:
    """Rounding is none of an equality of real numbers, but to few bits it is all of them. Between
    real, complex and whole numbers only the way that loses nothing is linear, and whole numbers
    wrap at their own width."""
    before, after = node.inputs[0].dtype, node.output.dtype
    if jnp.issubdtype(before, jnp.integer):
        fits = jnp.issubdtype(after, jnp.integer) and after.itemsize <= before.itemsize
    else:
        real = jnp.issubdtype(before, jnp.floating)
        fits = jnp.issubdtype(after, jnp.inexact if real else jnp.complexfloating)
        fits = fits and is_precise(before) and is_precise(after)
    return given[0] if fits else None


def _reduce_precision(node: Node, given: Sequence[Fact]) -> Fact:
    return given[0] if keeps_all_bits(node) else None


def _select(node: Node, given: Sequence[Fact]) -> Fact:
    return None if given[0] is not None else _together(given[1:])


def _transpose(node: Node, given: Sequence[Fact]) -> Fact:
    if given[0] == DENSE:
        return DENSE
    return Along(tuple(given[0].axes[axis] for axis in node.params["permutation"]))


def _broadcast(node: Node, given: Sequence[Fact]) -> Fact:
    if given[0] == DENSE:
        return DENSE
    axes: list[int | None] = [None] * len(node.output.shape)
    for axis, to in enumerate(node.params["broadcast_dimensions"]):
        if node.inputs[0].shape[axis] == node.output.shape[to]:
            axes[to] = given[0].axes[axis]
    return Along(tuple(axes))


def _reshape(node: Node, given: Sequence[Fact]) -> Fact:
    """Axes of size 1 come and go; anything else mixes axes."""
    before, after = node.inputs[0].shape, node.output.shape
    if given[0] == DENSE or [n for n in before if n != 1] != [n for n in after if n != 1]:
        return DENSE
    real = iter([axis for axis, n in zip(given[0].axes, before, strict=True) if n != 1])
    ones = [axis for axis, n in zip(given[0].axes, before, strict=True) if n == 1]
    same = len(ones) == sum(n == 1 for n in after) and before == after
    kept = iter(ones)
    return Along(tuple(next(real) if n != 1 else (next(kept) if same else None) for n in after))


def _reduce(node: Node, given: Sequence[Fact]) -> Fact:
    if given[0] == DENSE or any(given[0].axes[axis] is not None for axis in node.params["axes"]):
        return DENSE
    gone = node.params["axes"]
    return Along(tuple(axis for k, axis in enumerate(given[0].axes) if k not in gone))


def _dot(node: Node, given: Sequence[Fact]) -> Fact:
    if all(fact is not None for fact in given):
        return None
    side = 0 if given[0] is not None else 1
    fact, (contracted, batch) = given[side], node.params["dimension_numbers"]
    if fact == DENSE or any(fact.axes[axis] is not None for axis in contracted[side]):
        return DENSE
    taken = {*contracted[side], *batch[side]}
    free = [axis for k, axis in enumerate(fact.axes) if k not in taken]
    first = [fact.axes[k] for k in batch[side]]
    other = [None] * (len(node.output.shape) - len(first) - len(free))
    return Along(tuple([*first, *free, *other] if side == 0 else [*first, *other, *free]))


def _mixed(node: Node, given: Sequence[Fact]) -> Fact:
    """Elements moved or added up; where they go must be free."""
    return DENSE if all(fact is None for fact in given[1:]) else None


def _joined(node: Node, given: Sequence[Fact]) -> Fact:
    return DENSE


def _update(node: Node, given: Sequence[Fact]) -> Fact:
    if any(fact is not None for fact in given[2:]):
        return None
    return given[0] if given[1] is None else DENSE


def _scatter(node: Node, given: Sequence[Fact]) -> Fact:
    """Elements replaced, at places that are free."""
    if given[1] is not None:
        return None
    return given[0] if given[2] is None else DENSE


def _same(node: Node, given: Sequence[Fact]) -> Fact:
    return given[0]


RULES: Mapping[str, Callable[[Node, Sequence[Fact]], Fact]] = {
    **dict.fromkeys(("add", "add_any", "sub"), _sum),
    **dict.fromkeys(("neg", "copy", "copy_p", "stop_gradient", "name"), _same),
    **dict.fromkeys(("concatenate", "stack"), _joined),
    **dict.fromkeys(("cumsum", "dynamic_slice", "gather", "rev", "slice", "pad"), _mixed),
    **dict.fromkeys(("reshape", "squeeze", "expand_dims"), _reshape),
    "mul": _product,
    "div": _quotient,
    "convert_element_type": _convert,
    "reduce_precision": _reduce_precision,
    "select_n": _select,
    "transpose": _transpose,
    "broadcast_in_dim": _broadcast,
    "reduce_sum": _reduce,
    "dot_general": _dot,
    "dynamic_update_slice": _update,
    "scatter": _scatter,
}
"""By primitive. Default: not linear."""
