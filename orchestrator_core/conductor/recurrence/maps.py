"""Linear maps of the carries of a system: what some steps of a loop make of what they are given.

Of k carries whose elements are alone, k by k numbers for each element; of any others a matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.affine import System
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.needed import needed
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.recurrence.parts import piece
from orchestrator_core.conductor.recurrence.tangents import without_stops

Arrays = Sequence[Any]


@jax.tree_util.register_pytree_node_class
class Map:
    """A linear map, column by column.

    Attributes:
        columns: for each column what it makes, an array for each carry. Of elements that are alone
            there is a column for each carry; else all columns are one, with a leading axis.
        is_elementwise: are elements alone?
    """

    def __init__(self, columns: Any, is_elementwise: bool) -> None:
        self.columns, self.is_elementwise = columns, is_elementwise

    def tree_flatten(self) -> tuple[tuple[Any], bool]:
        return (self.columns,), self.is_elementwise

    @classmethod
    def tree_unflatten(cls, is_elementwise: bool, children: tuple[Any]) -> Map:
        return cls(children[0], is_elementwise)

    def after(self, step: Callable[..., Any], at: Arrays) -> Map:
        """This map, and after it the linear part of a step, whose derivative is taken at `at`."""

        def push(column: Arrays) -> Any:
            return jax.jvp(step, tuple(at), tuple(column))[1]

        if self.is_elementwise:
            return Map([push(column) for column in self.columns], True)
        return Map(jax.vmap(push)(self.columns), False)

    def doubled(self, times: int) -> Map:
        """A map that is no elementwise one, done ``2 ** times`` times."""
        shapes = [each.shape[1:] for each in self.columns]
        matrix = jnp.concatenate([x.reshape(x.shape[0], -1) for x in self.columns], 1)
        for _ in range(times):
            matrix = matrix @ matrix
        cuts = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        parts = jnp.split(matrix, cuts, 1)
        pairs = zip(parts, shapes, strict=True)
        return Map([part.reshape(-1, *shape) for part, shape in pairs], False)

    def __call__(self, given: Arrays) -> list[Any]:
        """What it makes of the carries."""
        if not self.is_elementwise:
            flat = jnp.concatenate([jnp.ravel(each) for each in given])
            return [jnp.tensordot(flat, each, 1) for each in self.columns]
        made = []
        for place in range(len(given)):
            terms = [c[place] * x for c, x in zip(self.columns, given, strict=True)]
            made.append(sum(terms[1:], terms[0]))
        return made


def map_of(scan: Scan, system: System) -> Map:
    """The map of a system's carries that changes nothing."""
    carries = [scan.carry_inputs[k] for k in system.carries]
    if system.is_elementwise:
        zeros, places = _zeros(carries), range(len(carries))
        ones = [jnp.ones_like(each) for each in zeros]
        return Map([[ones[k] if k == n else zeros[k] for k in places] for n in places], True)
    eye = jnp.eye(sum(each.size for each in carries), dtype=carries[0].dtype)
    columns, start = [], 0
    for each in carries:
        columns.append(eye[:, start : start + each.size].reshape(-1, *each.shape))
        start += each.size
    return Map(columns, False)


def linear_part(
    scan: Scan, system: System, consts: Arrays, others: Arrays = (), xs: Arrays = ()
) -> Any:
    """A step as a function of a system's carries alone, and zeros to take its derivative at.

    Args:
        others, xs: the other carries and slices; where they do not count they are zeros.
    """
    known = [k for k in range(len(scan.carry)) if k not in system.carries]
    read = [scan.carry_inputs[k] for k in (*system.carries, *known)]
    made = [scan.carry_outputs[k] for k in system.carries]
    inputs = [*scan.const_inputs, *read, *scan.x_inputs]
    part = piece(without_stops(scan.body), inputs, made)
    zeros = _zeros([scan.carry_inputs[k] for k in system.carries])
    others = others or _zeros([scan.carry_inputs[k] for k in known])
    xs = xs or _zeros(scan.x_inputs)
    return lambda *mine: evaluate(part, [*consts, *mine, *others, *xs]), zeros


def _zeros(values: Sequence[Value]) -> list[Any]:
    return [jnp.zeros(each.shape, each.dtype) for each in values]


def is_fixed(scan: Scan, system: System) -> bool:
    """Do all steps move the carries of a system alike, whatever else they are given?"""
    known = [each for k, each in enumerate(scan.carry_inputs) if k not in system.carries]
    avals = [each.aval for each in (*scan.const_inputs, *known, *scan.x_inputs)]

    def moved(*arrays: Any) -> list[Any]:
        consts = arrays[: len(scan.consts)]
        others, xs = arrays[len(consts) :][: len(known)], arrays[len(consts) + len(known) :]
        step, zeros = linear_part(scan, system, consts, others, xs)
        return list(jax.jvp(step, tuple(zeros), tuple(jnp.ones_like(z) for z in zeros))[1])

    graph = read(_jax.trace(moved, avals))
    return needed(graph, graph.outputs).isdisjoint(graph.inputs[len(scan.consts) :])
