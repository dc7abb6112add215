"""Bodies of loops read as affine maps in max-plus, min-plus or in log space.

There ``c' = (c x a) + b`` is ``max(c + a, b)`` or ``log(exp(c + a) + exp(b))``. Each value that
depends on carries is known by a and b, as arrays, and operations are done to these. Nothing is
exponentiated: a value of which a body takes the exponential is known by its logarithm, so a maximum
that a body takes off before and puts back after is left out (that it cancels is what the domain
`facts.log_linear` proves).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.recurrence.semiring_values import (
    PLUS,
    Affine,
    Apart,
    Largest,
    zero,
)


class Reading:
    """Of one body.

    Args:
        kind: a key of `PLUS`.
    """

    def __init__(self, body: Graph, carries: Sequence[Value], kind: str) -> None:
        self._body, self._carries, self.kind = body, carries, kind
        self._count = len(carries)

    def of(self, known: Mapping[Value, Any], wanted: Sequence[Atom]) -> list[Affine]:
        """What the body makes.

        Args:
            known: arrays of all inputs but the carries. wanted: values of the body.

        Raises:
            NotImplementedError: naming an operation that cannot be read.
        """
        values: dict[Value, Any] = {**self._body.constants, **known}
        for place, carry in enumerate(self._carries):
            scales = [None] * self._count
            values[carry] = Affine(
                (*scales[:place], jnp.zeros(carry.shape, carry.dtype), *scales[place + 1 :]), None
            )
        for node in self._body.nodes:
            given = [_of(values, each) for each in node.inputs]
            if any(isinstance(each, Affine | Largest | Apart) for each in given):
                values[node.output] = self._made(node, given)
            else:
                values.update(zip(node.outputs, node.apply(given), strict=True))
        return [self.affine(_of(values, each)) for each in wanted]

    def _made(self, node: Node, given: list[Any]) -> Any:
        rule = RULES.get(node.name)
        made = NotImplemented if rule is None else rule(self, node, given)
        if made is NotImplemented:
            raise NotImplementedError(f"{node.name} of what a loop carries")
        return made

    def affine(self, value: Any) -> Affine:
        """Of a value that depends on carries, or one that does not."""
        if isinstance(value, Largest | Apart):
            raise NotImplementedError("a maximum that stays")
        return value if isinstance(value, Affine) else Affine((None,) * self._count, value)

    def plus(self, node: Node, left: Any, right: Any) -> Affine:
        """The sum of two, as a node makes it."""
        one, two = self.affine(left), self.affine(right)
        if one.is_exp != two.is_exp:
            raise NotImplementedError(f"{node.name} of a number and its logarithm")
        add = functools.partial(_added, PLUS[self.kind], node.output.shape)
        scales = tuple(add(a, b) for a, b in zip(one.scales, two.scales, strict=True))
        return Affine(scales, add(one.rest, two.rest), one.is_exp)


def _of(values: Mapping[Value, Any], atom: Atom) -> Any:
    return jnp.asarray(atom.value, atom.dtype) if isinstance(atom, Literal) else values[atom]


def _added(plus: Callable[[Any, Any], Any], shape: tuple[int, ...], a: Any, b: Any) -> Any:
    if a is None or b is None:
        only = b if a is None else a
        return None if only is None else jnp.broadcast_to(only, shape)
    return plus(a, b)


def _is_free(value: Any) -> bool:
    return not isinstance(value, Affine | Largest | Apart)


def _compare(reading: Reading, node: Node, given: list[Any]) -> Any:
    if reading.kind == "log" and node.name == "max":
        return Largest((given[0], given[1]), frozenset(node.inputs))
    return reading.plus(node, *given) if reading.kind == node.name else NotImplemented


def _sum(reading: Reading, node: Node, given: list[Any]) -> Any:
    for one, other in (given, given[::-1]):
        if isinstance(one, Largest) and isinstance(other, Apart):
            return reading.plus(node, *one.values) if one.of == other.of else NotImplemented
        if isinstance(one, Affine) and isinstance(other, Largest):
            return one
        if isinstance(one, Affine) and _is_free(other):
            return _raised(reading, node, one, other)
    if not all(isinstance(each, Affine) for each in given):
        return NotImplemented
    if all(each.is_exp for each in given):
        return reading.plus(node, *given)
    return Apart(frozenset()) if reading.kind == "log" else NotImplemented


def _raised(reading: Reading, node: Node, one: Affine, other: Any) -> Affine:
    """By what does not depend on carries."""
    if one.is_exp:
        rest = Affine((None,) * len(one.scales), jnp.log(other), True)
        return reading.plus(node, one, rest)
    return one.each(lambda x: jnp.broadcast_to(x + other, node.output.shape))


def _difference(reading: Reading, node: Node, given: list[Any]) -> Any:
    left, right = given
    if isinstance(right, Largest):
        return NotImplemented if isinstance(left, Largest | Apart) else reading.affine(left)
    of = frozenset(node.inputs)
    if isinstance(left, Affine) and not left.is_exp and _is_free(right):
        shifted = left.each(lambda x: jnp.broadcast_to(x - right, node.output.shape))
        return replace(shifted, apart=of)
    return Apart(of) if reading.kind == "log" else NotImplemented


def _scaled(reading: Reading, node: Node, given: list[Any]) -> Any:
    side = 0 if isinstance(given[0], Affine) else 1
    value, other = given[side], given[1 - side]
    if not isinstance(value, Affine) or not value.is_exp or not _is_free(other):
        return NotImplemented
    if node.name == "div" and side == 1:
        return NotImplemented
    shift = -jnp.log(other) if node.name == "div" else jnp.log(other)
    return value.each(lambda x: jnp.broadcast_to(x + shift, node.output.shape))


def _exp(reading: Reading, node: Node, given: list[Any]) -> Any:
    if isinstance(given[0], Apart):
        return given[0]
    plain = isinstance(given[0], Affine) and not given[0].is_exp and reading.kind == "log"
    return replace(given[0], is_exp=True, apart=frozenset()) if plain else NotImplemented


def _log(reading: Reading, node: Node, given: list[Any]) -> Any:
    fits = isinstance(given[0], Affine) and given[0].is_exp
    return replace(given[0], is_exp=False) if fits else NotImplemented


def _view(reading: Reading, node: Node, given: list[Any]) -> Any:
    """What moves elements moves those of all parts alike."""
    if isinstance(given[0], Largest):
        return given[0]
    fits = isinstance(given[0], Affine)
    return given[0].each(lambda x: node.apply([x])[0]) if fits else NotImplemented


def _apart(reading: Reading, node: Node, given: list[Any]) -> Any:
    """What is computed of a difference alone: by how much a sum exceeds the larger of two."""
    first = given[0]
    if isinstance(first, Affine) and first.apart and node.name in ("abs", "ne"):
        return Apart(first.apart)
    if isinstance(first, Affine) and first.is_exp and node.name == "abs":
        return first
    return first if isinstance(first, Apart) else NotImplemented


def _select(reading: Reading, node: Node, given: list[Any]) -> Any:
    if isinstance(given[0], Apart):  # where it is NaN
        return given[1]
    if not _is_free(given[0]):
        return NotImplemented
    cases = [reading.affine(each) for each in given[1:]]
    if len({each.is_exp for each in cases if any(x is not None for x in each.scales)}) > 1:
        return NotImplemented
    nothing = jnp.full(node.output.shape, zero(reading.kind or "max"), node.output.dtype)

    def chosen(parts: Sequence[Any]) -> Any:
        filled = [nothing if x is None else jnp.broadcast_to(x, nothing.shape) for x in parts]
        return jax.lax.select_n(given[0], *filled)

    scales = tuple(chosen(parts) for parts in zip(*(each.scales for each in cases), strict=True))
    return Affine(scales, chosen([each.rest for each in cases]), cases[0].is_exp)


Rule = Callable[[Reading, Node, list[Any]], Any]

RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("max", "min"), _compare),
    **dict.fromkeys(("add", "add_any"), _sum),
    **dict.fromkeys(("mul", "div"), _scaled),
    **dict.fromkeys(("abs", "neg", "log1p", "ne"), _apart),
    **dict.fromkeys(("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose"), _view),
    **dict.fromkeys(("copy", "copy_p", "stop_gradient", "convert_element_type"), _view),
    "sub": _difference,
    "exp": _exp,
    "log": _log,
    "select_n": _select,
}
"""By primitive. Default: cannot be read."""
