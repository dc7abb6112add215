"""Recurrences as matrix products: within a chunk of K steps what is read is a masked product of
queries, keys and values; from chunk to chunk a short loop hands on states.

``y_t = q_t S_t`` with ``S_t = a_t S_{t-1} + k_t v_t`` is, within a chunk that begins with S_0,
``y_t = sum_{s <= t} (q_t k_s) G_ts v_s + q_t P_t S_0``, where G_ts is the product of the decays of
the steps s+1..t and P_t of all up to t (T. Dao and A. Gu, "Transformers are SSMs", 2024; S. Yang et
al., "Gated linear attention", 2024). The products are made of shorter ones, never as quotients or
differences of logarithms: decays may be 0, negative or complex, and what is too small becomes 0 as
in the loop. If anything is not finite, be it that a product has overflowed which the
loop never makes, the loop runs as it was.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.usual import chosen_by_use
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.recurrence.chunks import Chunks, run, whole
from orchestrator_core.conductor.recurrence.decayed import (
    CHUNK,
    FROM,
    TO,
    Decayed,
    Factors,
    solved,
    thin,
)
from orchestrator_core.conductor.recurrence.einsum import Leaves, Operand, multiplied, results
from orchestrator_core.conductor.recurrence.factors import Factor, Term
from orchestrator_core.conductor.recurrence.readings import Readings, State
from orchestrator_core.conductor.recurrence.splice import spliced

Arrays = Sequence[Any]


def is_for_matmuls(found: Readings) -> bool:
    """Is a state larger than whatever is added to it, scales and reads it? Others may be as large
    as what is added to that."""
    large = [state for state in found.states if _is_large(state)]
    most = max((factor.value.size for state in large for factor in _parts(state)), default=0)
    small = [state for state in found.states if state not in large]
    reads = [value for value, terms in found.read.items() if any(map(found.state_of, terms))]
    return (
        all(state.is_elementwise for state in found.states)
        and all(state.before.size <= most for state in small)
        and all(value.size <= most for value in reads)
    )


def _parts(state: State) -> list[Factor]:
    return [*state.decay, *(factor for term in state.added for factor in term.factors)]


def _is_large(state: State) -> bool:
    size, decays = state.before.size, math.prod(thin(state))
    return decays < size and all(factor.value.size < size for factor in _parts(state))


def in_matmuls(graph: Graph, node: Node, found: Readings, *, is_guarded: bool = True) -> Graph:
    """The graph in which matrix products do what the loop did.

    Args:
        is_guarded: False to leave out what happens to numbers that are not finite, for pricing.
    """
    chunked = _Chunked(found, is_guarded)
    return spliced(graph, chunked.run, list(node.inputs), list(node.outputs), node.source)


class _Chunked:
    """One loop."""

    def __init__(self, found: Readings, is_guarded: bool) -> None:
        self._found, self._scan, self._is_guarded = found, found.scan, is_guarded
        self._chunks = Chunks(self._scan.length, _size(found), self._scan.reverse)

    def run(self, *arrays: Any) -> list[Any]:
        """What the loop makes."""
        scan, first = self._scan, len(self._scan.consts)
        consts, carry = arrays[:first], arrays[first:][: len(scan.carry)]
        xs = arrays[first + len(scan.carry) :]
        made = self._made(consts, carry, xs)
        if not self._is_guarded:
            return made
        finite = jnp.all(jnp.stack([jnp.isfinite(each).all() for each in made]))
        return chosen_by_use(finite, lambda: made, lambda: whole(scan, consts, carry, xs))

    def _made(self, consts: Arrays, carry: Arrays, xs: Arrays) -> list[Any]:
        scan, chunks = self._scan, self._chunks
        main = [x.reshape(-1, *x.shape[2:]) for x in chunks.main(xs)]
        factors = Factors(Leaves(self._found, consts, main), chunks)
        states = {
            state: solved(state, factors, carry[state.place], chunks)
            for state in self._found.states
        }
        read = {value: self._read(value, factors, states) for value in self._found.read}
        ys = results(self._found, consts, main, read)
        last = [states[state].last for state in self._found.states]
        if not chunks.rest:
            return [*last, *ys]
        last, tail = run(scan, range(len(ys)), consts, last, chunks.tail(xs), chunks.rest)
        halves = [(t, y) if scan.reverse else (y, t) for t, y in zip(tail, ys, strict=True)]
        return [*last, *(jnp.concatenate(pair) for pair in halves)]

    def _read(self, value: Value, factors: Factors, states: Mapping[State, Decayed]) -> Any:
        """(steps, ...): of a value that is read."""
        shape = (self._chunks.count, self._chunks.size, *value.shape)
        made: Any = 0
        for term in self._found.read[value]:
            for sign, operands in self._terms(term, factors, states):
                labels = (CHUNK, TO, *term.labels)
                made = made + sign * multiplied(operands, labels, shape)
        made = jnp.flip(made, 1) if self._scan.reverse else made
        return made.reshape(-1, *value.shape).astype(value.dtype)

    def _terms(
        self, term: Term, factors: Factors, states: Mapping[State, Decayed]
    ) -> list[tuple[int, list[Operand]]]:
        """A term as products of arrays with signs."""
        found = self._found.state_of(term)
        if found is None:
            return [(term.sign, factors.at(term.factors, TO))]
        state, mine = found
        names = dict(zip(state.labels, mine.labels, strict=True))
        weights, whole = (
            (array, tuple(names.get(k, k) for k in labels))
            for array, labels in states[state].rows(mine.value is state.after)
        )
        reads = factors.at([f for f in term.factors if f is not mine], TO)
        before = (states[state].starts, (CHUNK, *mine.labels))
        made = [(term.sign, [*reads, whole, before])]
        for added in state.added:
            writes = factors.at(added.renamed(names, added.labels).factors, FROM)
            made.append((term.sign * added.sign, [*reads, weights, *writes]))
        return made


def _size(found: Readings) -> int:
    """Steps of a chunk: so many that what is done within it costs as much as states do; decays
    that differ along an axis are multiplied for each pair of steps."""
    sides = [math.sqrt(state.before.size) for state in found.states]
    many = any(math.prod(thin(state)) > 1 for state in found.states)
    best: int = 2 ** round(math.log2(max(2.0, min(sides))))
    most: int = 2 ** int(math.log2(found.scan.length))
    return min(max(best, 16), 16 if many else 128, most)
