"""Elementwise affine recurrences as parallel scans.

``c_t = A_t c_{t-1} + b_t`` is a product of pairs: ``(A, b) (A', b') = (A' A, A' b + b')`` (G.
Blelloch, "Prefix sums and their applications", 1990). Systems of k carries have k by k matrices for
each element. Systems are solved in the order in which they need each other. If any state is not
finite, be it that a product has overflowed which the loop never makes, the loop runs as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from orchestrator_core.conductor.facts.affine import Kind, System
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.recurrence.batchable import is_batchable
from orchestrator_core.conductor.recurrence.in_order import in_order
from orchestrator_core.conductor.recurrence.parts import piece
from orchestrator_core.conductor.recurrence.splice import spliced
from orchestrator_core.conductor.recurrence.tangents import without_stops

Arrays = Sequence[Any]


def is_parallel(scan: Scan, systems: Sequence[System]) -> bool:
    """Can all carries be had by parallel scans?"""
    kinds = {system.kind for system in systems}
    same = all(len({scan.carry_inputs[k].aval for k in s.carries}) == 1 for s in systems)
    plain = all(system.is_elementwise for system in systems)
    smooth = all(jnp.issubdtype(each.dtype, jnp.inexact) for each in scan.carry_inputs)
    batchable = all(is_batchable(node) for node in scan.body.nodes)
    return kinds <= {Kind.LINEAR, Kind.FREE} and same and plain and smooth and batchable


def in_parallel(
    graph: Graph, node: Node, systems: Sequence[System], *, is_guarded: bool = True
) -> Graph:
    """The graph in which parallel scans do what the loop did.

    Args:
        is_guarded: False to leave out what happens to numbers that are not finite, for pricing.
    """
    scan = Scan.of(node)
    solver = _Solver(scan, in_order(scan, systems), is_guarded)
    return spliced(graph, solver.run, list(node.inputs), list(node.outputs), node.source)


class _Solver:
    """One loop."""

    def __init__(self, scan: Scan, systems: Sequence[System], is_guarded: bool) -> None:
        self._scan, self._systems, self._body = scan, systems, without_stops(scan.body)
        self._is_guarded = is_guarded

    def run(self, *arrays: Any) -> list[Any]:
        """What the loop makes."""
        scan = self._scan
        consts = arrays[: len(scan.consts)]
        carry = arrays[len(scan.consts) :][: len(scan.carry)]
        xs = arrays[len(scan.consts) + len(scan.carry) :]
        before: dict[int, Any] = {}
        last: dict[int, Any] = {}
        for system in self._systems:
            states = self._states(system, consts, carry, xs, before)
            for k, state in zip(system.carries, states, strict=True):
                before[k], last[k] = self._shifted(carry[k], state)
        order = range(len(carry))
        ys = self._results(consts, [before[k] for k in order], xs)
        made = [*(last[k] for k in order), *ys]
        if not self._is_guarded:
            return made
        finite = jnp.all(
            jnp.stack([jnp.isfinite(x).all() for x in [*before.values(), *last.values()]])
        )
        return list(jax.lax.cond(finite, lambda: made, lambda: self._loop(consts, carry, xs)))

    def _shifted(self, start: Any, states: Any) -> tuple[Any, Any]:
        """What each step is given, and what the last one hands on."""
        first = jnp.broadcast_to(start, states.shape[1:])[None]
        if self._scan.reverse:
            return jnp.concatenate([states[1:], first]), states[0]
        return jnp.concatenate([first, states[:-1]]), states[-1]

    def _states(
        self,
        system: System,
        consts: Arrays,
        carry: Arrays,
        xs: Arrays,
        before: Mapping[int, Any],
    ) -> list[Any]:
        """What each step hands on."""
        scan, places = self._scan, system.carries
        ends = [scan.carry_outputs[k] for k in places]
        read = [scan.carry_inputs[k] for k in (*places, *before)]
        part = piece(self._body, [*scan.const_inputs, *read, *scan.x_inputs], ends)

        def pair(known: Arrays, xs: Arrays) -> Any:
            def step(*mine: Any) -> list[Any]:
                return evaluate(part, [*consts, *mine, *known, *xs])

            zeros = [jnp.zeros_like(carry[k]) for k in places]
            columns = []
            for place in range(len(places)):
                ones = [jnp.ones_like(z) if k == place else z for k, z in enumerate(zeros)]
                columns.append(jnp.stack(jax.jvp(step, tuple(zeros), tuple(ones))[1]))
            return jnp.stack(columns, 1), jnp.stack(step(*zeros))

        a, b = jax.vmap(pair)([before[k] for k in before], list(xs))
        first = -1 if scan.reverse else 0
        start = jnp.stack([jnp.broadcast_to(carry[k], b.shape[2:]) for k in places])
        b = b.at[first].add((a[first] * start[None]).sum(1))
        _, states = jax.lax.associative_scan(_product, (a, b), reverse=scan.reverse)
        return [states[:, k] for k in range(len(places))]

    def _results(self, consts: Arrays, before: Arrays, xs: Arrays) -> list[Any]:
        part = piece(self._body, self._body.inputs, self._scan.y_outputs)

        def results(before: Arrays, xs: Arrays) -> list[Any]:
            return evaluate(part, [*consts, *before, *xs])

        return list(jax.vmap(results)(list(before), list(xs))) if self._scan.ys else []

    def _loop(self, consts: Arrays, carry: Arrays, xs: Arrays) -> list[Any]:
        def step(carry: Any, x: Any) -> Any:
            made = evaluate(self._scan.body, [*consts, *carry, *x])
            return made[: len(carry)], made[len(carry) :]

        scan: Any = jax.lax.scan
        last, ys = scan(step, list(carry), list(xs), self._scan.length, self._scan.reverse)
        return [*last, *ys]


def _product(left: Any, right: Any) -> Any:
    """Of pairs with k by k matrices for each element: of shapes (T, k, k, ...) and (T, k, ...)."""
    (a, b), (c, d) = left, right
    count = a.shape[1]
    matrix = sum(c[:, :, j, None] * a[:, None, j] for j in range(count))
    return matrix, sum(c[:, :, j] * b[:, None, j] for j in range(count)) + d
