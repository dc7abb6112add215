"""Affine recurrences in blocks: the loop itself, on all blocks of steps at once.

A block of K steps takes a carry c to ``P c + e``. P and e of all blocks are found together, in K
steps each of which does a step of every block; a short loop goes from block to block with them; and
then the loop runs on all blocks at once, each from its own start. Of T steps ``2 K + T / K`` are
left (G. Blelloch, "Prefix sums and their applications", 1990, for K processors). Within a block
nothing changes. If any start is not finite, be it that a P has overflowed which the loop never
makes, the loop runs as it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from orchestrator_core.conductor.facts.affine import System
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.usual import chosen_by_use
from orchestrator_core.conductor.recurrence.chunks import Chunks, run
from orchestrator_core.conductor.recurrence.in_order import in_order
from orchestrator_core.conductor.recurrence.linear_loops import (
    MATRIX,
    is_alike,
    is_smooth,
    matrix_size,
)
from orchestrator_core.conductor.recurrence.maps import Map, is_fixed, linear_part, map_of
from orchestrator_core.conductor.recurrence.parts import piece
from orchestrator_core.conductor.recurrence.splice import spliced
from orchestrator_core.conductor.recurrence.tangents import without_stops

Arrays = Sequence[Any]


def in_blocks(
    graph: Graph, node: Node, systems: Sequence[System], *, is_guarded: bool = True
) -> Graph:
    """The graph in which a loop runs in blocks.

    Args:
        is_guarded: False to leave out what happens to numbers that are not finite, for pricing.
    """
    scan = Scan.of(node)
    blocks = _Blocks(scan, in_order(scan, systems), is_guarded)
    return spliced(graph, blocks.run, list(node.inputs), list(node.outputs), node.source)


MOST = 512
"""Elements of carries that are moved by one matrix, the same in each step."""


def is_for_blocks(scan: Scan, systems: Sequence[System]) -> bool:
    """Can the loop run in blocks?"""
    return is_smooth(scan, systems) and all(_is_moved(scan, system) for system in systems)


def _is_moved(scan: Scan, system: System) -> bool:
    """Is it known how a block moves what it is given?"""
    if system.is_elementwise:
        return is_alike(scan, system)
    size = matrix_size(scan, system)
    return size is not None and (size <= MATRIX or (size <= MOST and is_fixed(scan, system)))


class _Blocks:
    """One loop."""

    def __init__(self, scan: Scan, systems: Sequence[System], is_guarded: bool) -> None:
        self._scan, self._systems, self._is_guarded = scan, systems, is_guarded
        size = max(2, 2 ** round(math.log2(math.sqrt(scan.length / 2))))
        self._chunks = Chunks(scan.length, size, scan.reverse)

    def run(self, *arrays: Any) -> list[Any]:
        """What the loop makes."""
        scan, first = self._scan, len(self._scan.consts)
        consts, carry = arrays[:first], arrays[first:][: len(scan.carry)]
        xs = arrays[first + len(scan.carry) :]
        starts: dict[int, Any] = {}
        for system in self._systems:
            starts |= self._starts(system, consts, carry, self._chunks.main(xs), starts)
        if not self._is_guarded:
            return self._from(starts, consts, xs)
        finite = jnp.all(jnp.stack([jnp.isfinite(each).all() for each in starts.values()]))
        everything = range(len(scan.ys))
        return chosen_by_use(
            finite,
            lambda: self._from(starts, consts, xs),
            lambda: [x for part in run(scan, everything, consts, carry, xs) for x in part],
        )

    def _starts(
        self,
        system: System,
        consts: Arrays,
        carry: Arrays,
        xs: Arrays,
        known: Mapping[int, Any],
    ) -> dict[int, Any]:
        """Of a system's carries, what each block is given; `known`: of those that it needs."""
        alike = not system.is_elementwise and is_fixed(self._scan, system)
        fixed = self._fixed(system, consts) if alike else None
        start = None if alike else map_of(self._scan, system)
        ends, maps = self._blocks(system, consts, carry, xs, known, start)

        def onward(now: list[Any], each: Any) -> Any:
            end, map_ = each
            moved = (fixed or map_)(now)
            return [a + b.astype(a.dtype) for a, b in zip(end, moved, strict=True)], now

        first = [jnp.asarray(carry[k]) for k in system.carries]
        _, starts = jax.lax.scan(onward, first, (ends, maps), reverse=self._scan.reverse)
        return dict(zip(system.carries, starts, strict=True))

    def _blocks(
        self,
        system: System,
        consts: Arrays,
        carry: Arrays,
        xs: Arrays,
        known: Mapping[int, Any],
        start: Map | None,
    ) -> tuple[list[Any], Map | None]:
        """What each block makes of zero, and how it moves what it is given, if that differs: then
        `start` is the map that moves nothing."""
        scan, places = self._scan, system.carries
        read = [scan.carry_inputs[k] for k in (*places, *known)]
        made = [scan.carry_outputs[k] for k in (*places, *known)]
        body = without_stops(scan.body)
        part = piece(body, [*scan.const_inputs, *read, *scan.x_inputs], made)

        def step(state: Any, xs: Arrays) -> Any:
            mine, map_, others = state

            def moved(*mine: Any) -> tuple[list[Any], list[Any]]:
                made = evaluate(part, [*consts, *mine, *others, *xs])
                return made[: len(places)], made[len(places) :]

            made, others_after = moved(*mine)
            after = map_ and map_.after(lambda *mine: moved(*mine)[0], mine)
            return made, after, others_after

        zeros = [jnp.zeros(scan.carry_inputs[k].shape, carry[k].dtype) for k in places]
        state = _spread((zeros, start), self._chunks.count)
        ends, maps, _ = self._swept(step, (*state, list(known.values())), xs)
        return ends, maps

    def _fixed(self, system: System, consts: Arrays) -> Map:
        """How any block moves what it is given, where all steps do the same: see `is_fixed`."""
        step, zeros = linear_part(self._scan, system, consts)
        once = map_of(self._scan, system).after(step, zeros)
        return once.doubled(self._chunks.size.bit_length() - 1)

    def _swept(self, step: Callable[[Any, Arrays], Any], state: Any, xs: Arrays) -> Any:
        """What is left of a state of each block after all steps of a block."""

        def on(state: Any, at: Any) -> tuple[Any, None]:
            return jax.vmap(step)(state, _at(xs, at)), None

        steps = jnp.arange(self._chunks.size)
        return jax.lax.scan(on, state, steps, reverse=self._scan.reverse)[0]

    def _from(self, starts: Mapping[int, Any], consts: Arrays, xs: Arrays) -> list[Any]:
        """All that the loop makes, from what each block is given."""
        scan, chunks = self._scan, self._chunks
        count, main = len(scan.carry), chunks.main(xs)

        def step(carry: Arrays, xs: Arrays) -> list[Any]:
            return evaluate(scan.body, [*consts, *carry, *xs])

        def on(state: Any, at: Any) -> tuple[Any, None]:
            carry, ys = state
            made = jax.vmap(step)(carry, _at(main, at))
            pairs = zip(ys, made[count:], strict=True)
            kept = [jax.lax.dynamic_update_index_in_dim(old, y, at, 1) for old, y in pairs]
            return (made[:count], kept), None

        shape = (chunks.count, chunks.size)
        ys = [jnp.zeros((*shape, *each.shape), each.dtype) for each in scan.y_outputs]
        state = [starts[k] for k in range(count)], ys
        steps = jnp.arange(chunks.size)
        (carry, ys), _ = jax.lax.scan(on, state, steps, reverse=scan.reverse)
        last = [each[0 if scan.reverse else -1] for each in carry]
        tail: list[Any] = []
        if chunks.rest:
            last, tail = run(scan, range(len(ys)), consts, last, chunks.tail(xs), chunks.rest)
        return [*last, *chunks.joined(ys, tail)]


def _spread(tree: Any, count: int) -> Any:
    """The same for each block."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *jnp.shape(x))), tree)


def _at(xs: Arrays, step: Any) -> list[Any]:
    """The slices of one step of each block, of arrays of (blocks, steps, ...)."""
    return [jax.lax.dynamic_index_in_dim(x, step, 1, keepdims=False) for x in xs]
