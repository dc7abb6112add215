"""Whole numbers that are known before the program runs: those that follow from counting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.exact import EXACT
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.recurrence.counters import counters

Numbers: TypeAlias = np.ndarray[Any, Any]

MOST = 1 << 20
"""Elements of an array that is worth knowing."""

EVALUATED = EXACT | {
    *("broadcast_in_dim", "concatenate", "dynamic_slice", "expand_dims", "gather", "iota"),
    *("reshape", "rev", "slice", "squeeze", "transpose"),
}


class Known:
    """The whole numbers of a graph, evaluated on demand."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._found: dict[Value, Numbers | None] = {}

    def array(self, atom: Atom) -> Numbers | None:
        """What it is; None if it is not known."""
        if isinstance(atom, Literal):
            return np.asarray(atom.value)
        if atom not in self._found:
            self._found[atom] = self._evaluated(atom) if _is_counting(atom) else None
        return self._found[atom]

    def _evaluated(self, value: Value) -> Numbers | None:
        node = self.graph.producer.get(value)
        if node is None:
            return None
        if node.name == "scan":
            scan = Scan.of(node)
            made = dict(zip(scan.ys, scan.y_outputs, strict=True))
            return Steps(scan, self).array(made[value]) if value in made else None
        return _applied(node, [self.array(each) for each in node.inputs])


class Steps:
    """The whole numbers of a loop's steps: arrays with a leading axis of the steps, in the order of
    the slices that they read."""

    def __init__(self, scan: Scan, outside: Known) -> None:
        self.scan, self._outside = scan, outside
        self._found: dict[Value, Numbers | None] = self._given()

    def array(self, atom: Atom) -> Numbers | None:
        """What it is in each step; None if it is not known."""
        if isinstance(atom, Literal):
            return self._same(np.asarray(atom.value))
        if atom not in self._found:
            node = self.scan.body.producer.get(atom) if _is_counting(atom) else None
            inputs = [] if node is None else [self.array(each) for each in node.inputs]
            self._found[atom] = None if node is None else _applied(node, inputs, self.scan.length)
        return self._found[atom]

    def _given(self) -> dict[Value, Numbers | None]:
        scan, known = self.scan, self._outside
        found: dict[Value, Numbers | None] = dict.fromkeys(scan.body.inputs)
        for inner, outer in zip(scan.const_inputs, scan.consts, strict=True):
            array = known.array(outer)
            found[inner] = None if array is None else self._same(array)
        found.update((i, known.array(x)) for i, x in zip(scan.x_inputs, scan.xs, strict=True))
        for place, step in counters(scan).items():
            start = known.array(scan.carry[place])
            if start is not None:
                counts = start + self._turns() * np.asarray(step)
                found[scan.carry_inputs[place]] = counts.astype(start.dtype)  # wraps as it does
        return found

    def _turns(self) -> Numbers:
        steps = np.arange(self.scan.length)
        return steps[::-1] if self.scan.reverse else steps

    def _same(self, array: Numbers) -> Numbers:
        return np.broadcast_to(array, (self.scan.length, *array.shape))


def _is_counting(value: Value) -> bool:
    dtype = value.dtype
    whole = dtype is not None and (jnp.issubdtype(dtype, jnp.integer) or dtype == np.bool_)
    return bool(whole) and value.size <= MOST


def _applied(
    node: Node, arrays: Sequence[Numbers | None], steps: int | None = None
) -> Numbers | None:
    """What the node makes, for each step if there are any."""
    if node.name not in EVALUATED or any(each is None for each in arrays):
        return None
    with _jax.no_trace():
        given = [jnp.asarray(a, i.dtype) for a, i in zip(arrays, node.inputs, strict=True)]
        if steps is None:
            (made,) = node.apply(given)
        elif given:
            (made,) = jax.vmap(lambda *slices: node.apply(list(slices)))(*given)
        else:
            made = jnp.broadcast_to(node.apply([])[0], (steps, *node.output.shape))
        return np.asarray(made)
