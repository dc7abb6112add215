"""A loop that does itself what was done before and after it, slice by slice.

Done for all steps at once, a gate of Mamba is an array of (steps, channels, states) that is written
and read again; within a step it fits into registers. The reverse of fission, which has the last
word: what is better done at once goes out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from orchestrator_core.conductor.facts.axes import Spec
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.facts.transfer import rule_of
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.recurrence.gathered import (
    STEP,
    Gathered,
    leading,
    needs,
    place_of,
)
from orchestrator_core.conductor.recurrence.lost import LONG, lost_in
from orchestrator_core.conductor.recurrence.splice import spliced

Slice = tuple[Value, Spec]


class Absorbing:
    """A loop, and what goes into it.

    Attributes:
        read: what a step reads, cut by step or whole. wanted: what the loop makes that is read
            outside it, and which axis the steps are.
    """

    def __init__(self, graph: Graph, node: Node, found: Gathered) -> None:
        self.graph, self.node, self.found = graph, node, found
        self.scan = Scan.of(node)
        self._maker = {each.output: each for each in found.before}
        self.read = self._read()
        self.wanted = self._wanted()

    def _read(self) -> list[Slice]:
        found: dict[Slice, None] = {}
        seen: set[Slice] = set()
        open_ = [(x, leading(x, self.scan.length)) for x in self.scan.xs]
        for node in self.found.late:
            pairs = zip(node.inputs, self.found.needs(node), strict=True)
            open_ += [pair for pair in pairs if pair[0] not in self.found.made]
        while open_:
            atom, spec = open_.pop()
            if isinstance(atom, Literal) or (atom, spec) in seen:
                continue
            seen.add((atom, spec))
            maker = self._maker.get(atom)
            if maker is None:
                found[atom, spec] = None
            else:
                open_ += zip(maker.inputs, _needs(maker, spec), strict=True)
        return list(found)

    def _wanted(self) -> list[Slice]:
        inside = set(self.found.late)
        return [
            (value, spec)
            for value, spec in self.found.made.items()
            if value in self.graph.outputs or not inside.issuperset(self.graph.consumers[value])
        ]

    def done(self) -> Graph:
        """The graph with the loop that does all of it."""
        scan = self.scan
        inputs: list[Atom] = [*scan.consts, *scan.carry, *(value for value, _ in self.read)]
        return spliced(self.graph, self._loop, inputs, self.outputs, self.node.source)

    @property
    def outputs(self) -> list[Value]:
        """All that it makes for others."""
        sums = (node.output for node in self.found.sums)
        return [*self.scan.last, *sums, *(value for value, _ in self.wanted)]

    def _loop(self, *arrays: Any) -> list[Any]:
        scan = self.scan
        consts, arrays = arrays[: len(scan.consts)], arrays[len(scan.consts) :]
        carry, given = list(arrays[: len(scan.carry)]), arrays[len(scan.carry) :]
        sums = (*self.found.sums, *self._exact)
        carry += [jnp.zeros(each.output.shape, each.output.dtype) for each in sums]
        places = [place_of(spec) for _, spec in self.read]
        whole = {k: each for k, each in enumerate(given) if places[k] is None}
        cut = {k: jnp.moveaxis(given[k], p, 0) for k, p in enumerate(places) if p is not None}

        def step(carry: Any, now: Any) -> Any:
            index, slices = now
            known = dict(whole)
            known |= {k: jnp.expand_dims(x, places[k]) for k, x in slices.items()}
            bare = {self.read[k]: x for k, x in slices.items()}
            return self._step(consts, carry, [known[k] for k in range(len(given))], bare, index)

        counter = jnp.arange(scan.length) if self._counts else None
        turns = (counter, cut), scan.length, scan.reverse, self._unroll
        last, ys = jax.lax.scan(step, carry, *turns)
        axes = [place_of(spec) or 0 for _, spec in self.wanted]
        last = last[: len(scan.carry) + len(self.found.sums)]
        return [*last, *(jnp.moveaxis(y, 0, p) for y, p in zip(ys, axes, strict=True))]

    @property
    def _unroll(self) -> int:
        """So that the turn of the compiled loop is about as long as it was: who wrote a small step
        out a hundred times did not ask for a large one that often."""
        before = len(self.scan.body.nodes)
        return max(1, self.scan.unroll * before // (before + len(self.found.nodes)))

    @property
    def _exact(self) -> list[Node]:
        """Sums that hand on what they have lost: no outer products, which are larger than what they
        are made of, and which the loops of derivatives add up one by one."""
        length = self.scan.length
        return [
            node
            for node in self.found.sums
            if length >= LONG and node.output.size * length <= max(x.size for x in node.inputs)
        ]

    @property
    def _counts(self) -> bool:
        return any(node.name == "iota" for node in self.found.nodes)

    def _step(
        self,
        consts: Sequence[Any],
        carry: Sequence[Any],
        given: Sequence[Any],
        bare: dict[Slice, Any],
        index: Any,
    ) -> tuple[list[Any], list[Any]]:
        """`bare`: what a step reads without the axis of the steps: as it is, so that nobody takes
        what goes into the loop for something that the loop makes."""
        scan, known = self.scan, dict(zip(self.read, given, strict=True))
        state, sums = carry[: len(scan.carry)], carry[len(scan.carry) :]
        tile = Tile({STEP: index}, {STEP: 1})
        at_step = [(x, leading(x, scan.length)) for x in scan.xs]
        xs = [bare[at] if at in bare else self._slice(*at, known, tile)[0] for at in at_step]
        made = evaluate(scan.body, [*consts, *state, *xs])
        state, ys = made[: len(state)], made[len(state) :]
        for value, y in zip(scan.ys, ys, strict=True):
            known[value, leading(value, scan.length)] = jnp.asarray(y)[None]
        for node in self.found.after:
            spec = self.found.made[node.output]
            known[node.output, spec] = self._made(node, spec, known, tile)
        slices = [jnp.squeeze(known[each], place_of(each[1])) for each in self.wanted]
        return [*state, *self._summed(sums, known, tile)], slices

    def _summed(self, sums: Sequence[Any], known: dict[Slice, Any], tile: Tile) -> list[Any]:
        """The sums with one more step; after them what some have lost then."""
        lost = dict(zip(self._exact, sums[len(self.found.sums) :], strict=True))
        made = []
        for node, before in zip(self.found.sums, sums, strict=False):
            pairs = zip(node.inputs, self.found.needs(node), strict=True)
            (more,) = node.apply([self._slice(*pair, known, tile) for pair in pairs])
            more = more + lost[node] if node in lost else more
            made.append(before + more)
            if node in lost:
                lost[node] = lost_in(before, more, made[-1])
        return [*made, *lost.values()]

    def _slice(self, atom: Atom, spec: Spec, known: dict[Slice, Any], tile: Tile) -> Any:
        if isinstance(atom, Literal):
            return atom.value
        if (atom, spec) not in known:
            known[atom, spec] = self._made(self._maker[atom], spec, known, tile)
        return known[atom, spec]

    def _made(self, node: Node, spec: Spec, known: dict[Slice, Any], tile: Tile) -> Any:
        pairs = zip(node.inputs, _needs(node, spec), strict=True)
        arrays = [self._slice(each, part, known, tile) for each, part in pairs]
        return rule_of(node).evaluate(node, spec, arrays, tile)


def _needs(node: Node, spec: Spec) -> Sequence[Spec]:
    found = needs(node, spec)
    assert found is not None
    return found
