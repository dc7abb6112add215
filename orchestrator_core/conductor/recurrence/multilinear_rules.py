"""What operations make of sums of products with named axes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import jax.numpy as jnp

from orchestrator_core.conductor.facts.number_types import is_precise
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.recurrence.factors import Sum, Term

if TYPE_CHECKING:
    from orchestrator_core.conductor.recurrence.multilinear import Multilinear

Rule: TypeAlias = Callable[["Multilinear", Node, Sequence[Sum]], Sum | None]
"""Of the terms of what a node reads those of what it makes; None if that is no sum of products."""


def _spread(all_: Multilinear, term: Term, given: Atom, made: Value) -> Term:
    """Of an operand, with an axis for each of the result's."""
    if given.shape == made.shape:
        return term
    new = all_.fresh(len(made.shape))
    if not given.shape:
        return replace(term, labels=new)
    sizes = zip(given.shape, made.shape, term.labels, new, strict=True)
    return replace(term, labels=tuple(old if n == full else k for n, full, old, k in sizes))


def _sum(all_: Multilinear, node: Node, given: Sequence[Sum]) -> Sum:
    signs = (1, -1 if node.name == "sub" else 1)
    return tuple(
        replace(spread, sign=spread.sign * sign)
        for terms, each, sign in zip(given, node.inputs, signs, strict=True)
        for term in terms
        for spread in [_spread(all_, term, each, node.output)]
    )


def _product(all_: Multilinear, node: Node, given: Sequence[Sum]) -> Sum | None:
    if all(all_.depends(each) for each in given):
        return None
    left, right = (
        [_spread(all_, all_.copies(term), each, node.output) for term in terms]
        for terms, each in zip(given, node.inputs, strict=True)
    )
    return tuple(
        a.times(b.renamed(dict(zip(b.labels, a.labels, strict=True)), a.labels), a.labels)
        for a, b in itertools.product(left, right)
    )


def _quotient(all_: Multilinear, node: Node, given: Sequence[Sum]) -> Sum | None:
    """By a single product that no state is in."""
    if all_.depends(given[1]) or len(given[1]) != 1:
        return None
    if any(set(factor.labels) - set(given[1][0].labels) for factor in given[1][0].factors):
        return None
    factors = (replace(each, is_inverse=not each.is_inverse) for each in given[1][0].factors)
    return _product(all_, node, [given[0], (replace(given[1][0], factors=tuple(factors)),)])


def _negative(all_: Multilinear, node: Node, given: Sequence[Sum]) -> Sum:
    return tuple(replace(term, sign=-term.sign) for term in given[0])


def _same(all_: Multilinear, node: Node, given: Sequence[Sum]) -> Sum:
    return given[0]


def _convert(all_: Multilinear, node: Node, given: Sequence[Sum]) -> Sum | None:
    """Rounding is none of an equality of real numbers, to few bits it is all of them; taking the
    real part is."""
    before, after = node.inputs[0].dtype, node.output.dtype
    if not (is_precise(before) and is_precise(after)):
        return None
    real = jnp.issubdtype(before, jnp.floating) and jnp.issubdtype(after, jnp.inexact)
    both = all(jnp.issubdtype(each, jnp.complexfloating) for each in (before, after))
    return given[0] if real or both else None


def _transpose(all_: Multilinear, node: Node, given: Sequence[Sum]) -> Sum:
    order = node.params["permutation"]
    return tuple(replace(term, labels=tuple(term.labels[k] for k in order)) for term in given[0])


def _broadcast(all_: Multilinear, node: Node, given: Sequence[Sum]) -> Sum:
    made = []
    for term in given[0]:
        labels = list(all_.fresh(len(node.output.shape)))
        for axis, to in enumerate(node.params["broadcast_dimensions"]):
            if node.inputs[0].shape[axis] == node.output.shape[to]:
                labels[to] = term.labels[axis]
        made.append(replace(term, labels=tuple(labels)))
    return tuple(made)


def _reshape(all_: Multilinear, node: Node, given: Sequence[Sum]) -> Sum | None:
    """Axes of size 1 come and go; where one goes it is summed over."""
    before, after = node.inputs[0].shape, node.output.shape
    if [n for n in before if n != 1] != [n for n in after if n != 1]:
        return None
    made = []
    for term in given[0]:
        kept = iter([k for k, n in zip(term.labels, before, strict=True) if n != 1])
        new = iter(all_.fresh(len(after)))
        made.append(replace(term, labels=tuple(next(kept if n != 1 else new) for n in after)))
    return tuple(made)


def _reduce(all_: Multilinear, node: Node, given: Sequence[Sum]) -> Sum | None:
    gone = node.params["axes"]
    for term in given[0]:
        held = {label for factor in term.factors for label in factor.labels}
        if any(term.labels[axis] not in held for axis in gone):
            return None
    return tuple(
        replace(term, labels=tuple(k for axis, k in enumerate(term.labels) if axis not in gone))
        for term in given[0]
    )


def _dot(all_: Multilinear, node: Node, given: Sequence[Sum]) -> Sum | None:
    if all(all_.depends(each) for each in given):
        return None
    terms = itertools.product(*given)
    made = [_dot_of(all_.copies(a), all_.copies(b), node) for a, b in terms]
    return None if any(each is None for each in made) else tuple(each for each in made if each)


def _dot_of(left: Term, right: Term, node: Node) -> Term | None:
    contracted, batch = node.params["dimension_numbers"]
    pairs = zip((*contracted[1], *batch[1]), (*contracted[0], *batch[0]), strict=True)
    names = {right.labels[there]: left.labels[here] for there, here in pairs}
    other = right.renamed(names, tuple(names.get(k, k) for k in right.labels))
    held = {label for term in (left, other) for each in term.factors for label in each.labels}
    if any(left.labels[axis] not in held for axis in contracted[0]):
        return None
    first = [left.labels[k] for k in batch[0]]
    sides = [
        [k for axis, k in enumerate(term.labels) if axis not in (*contracted[s], *batch[s])]
        for s, term in enumerate((left, other))
    ]
    return left.times(other, (*first, *sides[0], *sides[1]))


def _outer(all_: Multilinear, node: Node, given: Sequence[Sum]) -> Sum | None:
    """A product of matrices that sums nothing."""
    contracted, _ = node.params["dimension_numbers"]
    return None if contracted[0] else _dot(all_, node, given)


FREE: Mapping[str, Rule] = {
    **dict.fromkeys(("reshape", "squeeze", "expand_dims"), _reshape),
    **dict.fromkeys(("copy", "copy_p", "stop_gradient", "name"), _same),
    "neg": _negative,
    "mul": _product,
    "div": _quotient,
    "convert_element_type": _convert,
    "transpose": _transpose,
    "broadcast_in_dim": _broadcast,
    "dot_general": _outer,
}
"""By primitive, of what no state is in. Default: a factor of its own."""

RULES: Mapping[str, Rule] = {
    **FREE,
    **dict.fromkeys(("add", "add_any", "sub"), _sum),
    "reduce_sum": _reduce,
    "dot_general": _dot,
}
"""By primitive, of what states are in. Default: not known."""
