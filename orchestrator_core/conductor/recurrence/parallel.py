"""Affine recurrences as parallel scans.

``c_t = A_t c_{t-1} + b_t`` is a product of pairs: ``(A, b) (A', b') = (A' A, A' b + b')`` (G.
Blelloch, "Prefix sums and their applications", 1990), also where max or log-add-exp adds and
addition multiplies. Systems of k carries whose elements are alone have k by k matrices for each
element, others one matrix. Systems are solved in the order in which they need each other. If any
state is not finite, be it that a product has overflowed which the loop never makes, the loop runs
as it was.
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
from orchestrator_core.conductor.ir.usual import chosen_by_use
from orchestrator_core.conductor.recurrence import chunks
from orchestrator_core.conductor.recurrence.algebras import Algebra, algebra_of
from orchestrator_core.conductor.recurrence.in_order import in_order
from orchestrator_core.conductor.recurrence.linear_loops import (
    LINEAR,
    MATRIX,
    is_alike,
    is_smooth,
    matrix_size,
)
from orchestrator_core.conductor.recurrence.parts import piece
from orchestrator_core.conductor.recurrence.splice import spliced
from orchestrator_core.conductor.recurrence.tangents import without_stops

Arrays = Sequence[Any]


KINDS = LINEAR | {Kind.TROPICAL, Kind.LOG_LINEAR}


def is_parallel(scan: Scan, systems: Sequence[System]) -> bool:
    """Can all carries be had by parallel scans?"""
    return is_smooth(scan, systems, KINDS) and all(_is_known(scan, each) for each in systems)


def _is_known(scan: Scan, system: System) -> bool:
    """Can two steps be one?"""
    if system.is_elementwise:
        return is_alike(scan, system)
    size = matrix_size(scan, system)
    return size is not None and size <= MATRIX


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
        good = []
        for system in self._systems:
            algebra = self._algebra(system, list(before))
            states = self._states(algebra, system, consts, carry, xs, before)
            for k, state in zip(system.carries, states, strict=True):
                before[k], last[k] = self._shifted(carry[k], state)
            good.append(algebra.is_good(states))
        order = range(len(carry))
        ys = self._results(consts, [before[k] for k in order], xs)
        made = [*(last[k] for k in order), *ys]
        if not self._is_guarded:
            return made

        def looped() -> list[Any]:
            last, ys = chunks.run(scan, range(len(scan.ys)), consts, carry, xs)
            return [*last, *ys]

        return chosen_by_use(jnp.all(jnp.stack(good)), lambda: made, looped)

    def _shifted(self, start: Any, states: Any) -> tuple[Any, Any]:
        """What each step is given, and what the last one hands on."""
        first = jnp.broadcast_to(start, states.shape[1:])[None]
        if self._scan.reverse:
            return jnp.concatenate([states[1:], first]), states[0]
        return jnp.concatenate([first, states[:-1]]), states[-1]

    def _algebra(self, system: System, known: Sequence[int]) -> Algebra:
        return algebra_of(self._scan, system, [self._scan.carry_inputs[k] for k in known])

    def _states(
        self,
        algebra: Algebra,
        system: System,
        consts: Arrays,
        carry: Arrays,
        xs: Arrays,
        before: Mapping[int, Any],
    ) -> list[Any]:
        """What each step hands on."""

        def step(known: Arrays, xs: Arrays) -> Any:
            return algebra.step([*consts, *known, *xs])

        a, b = jax.vmap(step)(list(before.values()), list(xs))
        at = slice(-1, None) if self._scan.reverse else slice(0, 1)
        begun = algebra.begun((a[at][0], b[at][0]), [carry[k] for k in system.carries])
        b = b.at[at].set(begun[None])
        _, made = jax.lax.associative_scan(algebra.product, (a, b), reverse=self._scan.reverse)
        return algebra.states(made)

    def _results(self, consts: Arrays, before: Arrays, xs: Arrays) -> list[Any]:
        part = piece(self._body, self._body.inputs, self._scan.y_outputs)

        def results(before: Arrays, xs: Arrays) -> list[Any]:
            return evaluate(part, [*consts, *before, *xs])

        return list(jax.vmap(results)(list(before), list(xs))) if self._scan.ys else []
