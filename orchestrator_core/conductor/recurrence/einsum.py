"""Products of arrays whose axes have labels, and the arrays of a loop's factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import jax.numpy as jnp

from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Literal, Value
from orchestrator_core.conductor.recurrence.batches import at_once
from orchestrator_core.conductor.recurrence.factors import Factor
from orchestrator_core.conductor.recurrence.parts import piece, reached
from orchestrator_core.conductor.recurrence.readings import Readings

Arrays = Sequence[Any]

Operand: TypeAlias = tuple[Any, tuple[int, ...]]
"""An array, and a label for each axis."""


def multiplied(operands: Sequence[Operand], labels: Sequence[int], sizes: Sequence[int]) -> Any:
    """Their product, summed over all labels but these.

    Args:
        sizes: of the result's axes, for those that no operand has.
    """
    present = {label for _, mine in operands for label in mine}
    inside = [label for label in labels if label in present]
    names = {label: k for k, label in enumerate(dict.fromkeys([*inside, *sorted(present)]))}
    arguments = [part for a, mine in operands for part in (a, [names[k] for k in mine])]
    made = jnp.einsum(*arguments, [names[label] for label in inside])
    return jnp.broadcast_to(aligned(made, inside, labels), tuple(sizes))


def aligned(array: Any, labels: Sequence[int], wanted: Sequence[int]) -> Any:
    """With an axis of size 1 for each wanted label that it has not; all of its own are wanted."""
    order = [labels.index(label) for label in wanted if label in labels]
    new = [axis for axis, label in enumerate(wanted) if label not in labels]
    return jnp.expand_dims(jnp.transpose(array, order), new)


class Leaves:
    """The factors of a loop, for all steps at once.

    Args:
        consts, xs: what the loop is given; `xs` may be of some steps only.
    """

    def __init__(self, found: Readings, consts: Arrays, xs: Arrays) -> None:
        scan = found.scan
        values = {f.value: None for f in found.factors if isinstance(f.value, Value)}
        self._moving = reached(scan.body, scan.x_inputs)
        part = piece(scan.body, [*scan.const_inputs, *scan.x_inputs], list(values))
        varying = [False] * len(scan.consts) + [True] * len(scan.xs)
        out = [value in self._moving for value in values]
        made = at_once(part, [*consts, *xs], varying, out)
        self._arrays: Mapping[Value, Any] = dict(zip(values, made, strict=True))

    def is_moving(self, factor: Factor) -> bool:
        """Does it differ by step?"""
        return factor.value in self._moving

    def operand(self, factor: Factor, steps: tuple[int, ...], shape: tuple[int, ...]) -> Operand:
        """A factor, with labels of the steps before its own where it differs by step.

        Args:
            shape: of the steps.
        """
        value = factor.value
        if isinstance(value, Literal):
            return _turned(jnp.asarray(value.value, value.dtype), factor), factor.labels
        array = _turned(self._arrays[value], factor)
        if value not in self._moving:
            return array, factor.labels
        return array.reshape(*shape, *value.shape), (*steps, *factor.labels)


def _turned(array: Any, factor: Factor) -> Any:
    return 1 / array if factor.is_inverse else array


def results(found: Readings, consts: Arrays, xs: Arrays, read: Mapping[Value, Any]) -> list[Any]:
    """All that the steps return, from what they read of states, stacked."""
    scan: Scan = found.scan
    given = [*scan.const_inputs, *scan.x_inputs, *read]
    part = piece(scan.body, given, scan.y_outputs)
    varying = [False] * len(consts) + [True] * (len(xs) + len(read))
    out = [True] * len(scan.ys)
    return at_once(part, [*consts, *xs, *read.values()], varying, out) if scan.ys else []
