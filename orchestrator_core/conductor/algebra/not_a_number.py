"""Choices by "is it NaN?" that choose between NaN and NaN.

``jnp.logaddexp``, and so ``softplus`` and ``log_sigmoid``, look whether a difference is NaN, which
it also is of two infinities. Of a finite number it is only where the other one is, and there all
that is computed of it is NaN as well. On a CPU the choice costs more than what it chooses from:
XLA makes vectors of the functions, but not of what is around a choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.ir.everywhere import everywhere
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value

Producer: TypeAlias = Mapping[Value, Node]

SAME = frozenset({"neg", "abs", "exp", "exp2", "expm1", "tanh", "logistic", "copy"})
"""Functions of one number that are NaN where it is, and nowhere else."""

SPREADING = SAME | {"log", "log1p", "sqrt", "rsqrt", "cbrt", "add", "sub", "mul", "div"}
"""Operations that are NaN wherever one of their operands is. Not so the larger of two numbers: not
each library that XLA calls has it so."""

STEPS = 16
"""How far back the chosen values are looked at."""


def chosen_anyway(node: Node, producer: Producer) -> Atom | None:
    """What a choice by NaN is, if both that it chooses from are NaN wherever it asks."""
    asked = _asked(node.inputs[0], producer)
    if asked is None:
        return None
    value, otherwise = asked
    same = _as_often(value, producer)
    if all(_is_nan(each, same, producer, STEPS) for each in node.inputs[1:]):
        return node.inputs[1:][otherwise]
    return None


def _asked(atom: Atom, producer: Producer) -> tuple[Value, int] | None:
    """(of which value is it asked whether it is NaN, the case that it is not)."""
    made_by = producer.get(atom) if isinstance(atom, Value) else None
    if made_by is None or made_by.name not in ("ne", "eq"):
        return None
    one, other = made_by.inputs
    if one is not other or not isinstance(one, Value) or not jnp.issubdtype(one.dtype, np.floating):
        return None
    return one, int(made_by.name == "eq")


def _as_often(value: Value, producer: Producer) -> frozenset[Value]:
    """Values that are NaN at the same places, and nowhere else; this one among them."""
    found = {value}
    while (made_by := producer.get(value)) is not None:
        before = _only_from(made_by, producer)
        if before is None:
            break
        found.add(before)
        value = before
    return frozenset(found)


def _only_from(node: Node, producer: Producer) -> Value | None:
    """The operand where alone the result is NaN; None if there is none."""
    if node.name not in SAME and node.name not in ("add", "sub"):
        return None
    values = [each for each in node.inputs if everywhere(each, producer) is None]
    if len(values) != 1 or not isinstance(values[0], Value):
        return None
    if values[0].shape != node.output.shape:
        return None
    numbers = [everywhere(each, producer) for each in node.inputs if each is not values[0]]
    return values[0] if all(np.isfinite(each) for each in numbers) else None


def _is_nan(atom: Atom, where: frozenset[Value], producer: Producer, steps: int) -> bool:
    """Is it proven to be NaN wherever these are?"""
    if not isinstance(atom, Value) or not steps:
        return False
    made_by = producer.get(atom)
    if atom in where:
        return True
    if made_by is None or made_by.name not in SPREADING:
        return False
    like = [each for each in made_by.inputs if each.shape == atom.shape]
    return any(_is_nan(each, where, producer, steps - 1) for each in like)
