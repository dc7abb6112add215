"""A group of warps that computes: the tiles of its row, one after another.

While one group multiplies, the other does what is between the products.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.facts.axes import Role
from orchestrator_core.conductor.kernels import squeezed
from orchestrator_core.conductor.kernels.cut import Cut, Place
from orchestrator_core.conductor.kernels.hopper import mosaic
from orchestrator_core.conductor.kernels.hopper.held import Held
from orchestrator_core.conductor.kernels.hopper.rules import rules
from orchestrator_core.conductor.kernels.hopper.sizes import COLUMNS, GROUPS, REGISTERS, ROWS
from orchestrator_core.conductor.kernels.hopper.two_products import TwoProducts
from orchestrator_core.conductor.kernels.hopper.visit import Visit
from orchestrator_core.conductor.tile.accumulators import RunningMax

if TYPE_CHECKING:
    from orchestrator_core.conductor.kernels.hopper.kernel import HopperKernel

State = tuple[Any, ...]


@dataclass(frozen=True)
class Computing:
    """What a group does. `first_row`: of its own."""

    kernel: HopperKernel
    visit: Visit
    held: Held
    first_row: Any

    @classmethod
    def of(cls, kernel: HopperKernel, visit: Visit, held: Held) -> Computing:
        return cls(kernel, visit, held, (visit.row * GROUPS + visit.group) * ROWS)

    @property
    def group(self) -> Any:
        return self.visit.group

    def run(self) -> None:
        """All tiles of a row, and its end."""
        kernel, visit, held = self.kernel, self.visit, self.held
        mosaic.with_registers(REGISTERS, action="increase")
        place = {kernel.side.outer: self.first_row}
        query = visit.leaves[kernel.masked.query].at[visit.at(kernel.masked.query, place)]
        mosaic.copy_in(query, held.queries.at[self.group], held.query_is_there.at[self.group])
        own = self._own(place)
        mosaic.wait(held.query_is_there.at[self.group])
        mosaic.wait(held.key_is_there.at[0])
        mosaic.when(self.group == 1)(held.take_turns)
        state = self.start()
        if kernel.plain is not None:
            tile = functools.partial(self.tile, kernel.plain, own)
            state = lax.fori_loop(jnp.int32(0), visit.plain_steps, tile, state)
        tile = functools.partial(self.tile, kernel.masked, own)
        state = lax.fori_loop(visit.plain_steps, visit.steps, tile, state)
        mosaic.when(self.group == 0)(held.take_turns)
        self.finish(state)

    def start(self) -> State:
        place = Place({}, self.kernel.one.size)
        made = []
        pairs = zip(self.kernel.side.accumulators, self.kernel.state, strict=True)
        for each, cut in pairs:
            made.append(mosaic.laid(jnp.full(cut.piece(place), each.start, each.dtype), ROWS))
        return tuple(made)

    def _own(self, place: Mapping[Role, Any]) -> list[Any]:
        """Of leaves that are the same in the whole row."""
        inner = self.kernel.side.inner
        leaves = enumerate(self.kernel.leaves)
        return [None if inner in cut.roles else self._read(k, place) for k, cut in leaves]

    def _read(self, leaf: int, place: Mapping[Role, Any]) -> Any:
        value = self.kernel.masked.body.inputs[leaf]
        if not self.kernel.masked.body.consumers[value]:
            return None
        cut = self.kernel.leaves[leaf]
        shape = cut.piece(Place({}, self.kernel.one.size))
        return mosaic.load(self.visit.leaves[leaf], self.visit.at(leaf, place), shape, ROWS)

    def tile(self, products: TwoProducts, own: Sequence[Any], step: Any, state: State) -> State:
        """What is accumulated with one more tile."""
        held, slot = self.held, lax.rem(step, jnp.int32(self.kernel.stages))
        scores = self._scores(slot)
        mosaic.arrive(held.key_is_free.at[slot])
        given = self._given(own, step, state, scores)
        *others, weights, base = squeezed.run(products.body, given, rules(ROWS))
        weights = weights.astype(held.values.dtype)
        *others, weights, base = mosaic.together((*others, weights, base))
        mosaic.arrive(held.turn)
        mosaic.wait(held.value_is_there.at[slot])
        mosaic.wait(held.turn)
        total = self._total(base, weights, slot, step)
        mosaic.arrive(held.value_is_free.at[slot])
        others.insert(products.place, total)
        return tuple(others)

    def _scores(self, slot: Any) -> Any:
        keys = self.held.keys.at[slot]
        keys = keys if self.kernel.is_turned(self.kernel.masked.key) else mosaic.turned(keys)
        queries = self.held.queries.at[self.group]
        return mosaic.product(queries, keys, (ROWS, COLUMNS), self.held.take_turns)

    def _total(self, base: Any, weights: Any, slot: Any, step: Any) -> Any:
        values = self.held.values.at[slot]
        is_turned = self.kernel.is_turned(self.kernel.masked.value)
        values = mosaic.turned(values) if is_turned else values

        def next_is_there() -> None:
            following = lax.rem(step + 1, jnp.int32(self.kernel.stages))

            @mosaic.when(step + 1 < self.visit.steps)
            def _() -> None:
                mosaic.wait(self.held.key_is_there.at[following])

        return mosaic.added(base, weights, values, next_is_there)

    def _given(self, own: Sequence[Any], step: Any, state: State, scores: Any) -> list[Any]:
        side = self.kernel.side
        place = {side.outer: self.first_row, side.inner: self.visit.column(step) * COLUMNS}
        inner = {side.inner: place[side.inner]}
        leaves = [
            self._read(k, inner) if side.inner in cut.roles else own[k]
            for k, cut in enumerate(self.kernel.leaves)
        ]
        at = [place["i"], place["j"], *self.visit.cells.values()]
        return [*leaves, *state, *at, scores]

    def finish(self, state: State) -> None:
        """Writes what is made of a row."""
        kernel, ending, outputs = self.kernel, self.kernel.ending, self.visit.outputs
        place = Place({**self.visit.cells, kernel.side.outer: self.first_row}, kernel.one.size)
        made = list(state) if ending is None else ending.made(state, place, rules(ROWS))
        flags = made.pop() if ending is not None and ending.is_checked else None
        for (cut, _), ref, array in zip(kernel.results, outputs, made, strict=False):
            self._write(ref, cut, place, array)
        if kernel.flags is not None:
            self._write(outputs[-1], kernel.flags, place, self._flags(state, flags))

    def _write(self, ref: Any, cut: Cut, place: Place, array: Any) -> None:
        at, _ = cut.at(place)
        queries = self.held.queries.at[self.group]
        if (array.shape, array.dtype) == (queries.shape, queries.dtype):
            mosaic.copy_out(array, queries, ref.at[tuple(at)])  # nobody needs them any more
        else:
            ref.at[tuple(at)][...] = array

    def _flags(self, state: State, usual: Any) -> Any:
        """For each row 1 if it is not in doubt, and if all tiles that were left out are proven to
        change nothing."""
        proofs = [] if usual is None else [usual]
        watch = self.kernel.usual.watch
        if watch is not None:
            needs, others = watch.needs(self.visit.live, self.visit.row)
            proofs += [_one(each) for each in others]
            pairs = zip(needs, self.kernel.side.accumulators, state, strict=True)
            for need, each, now in pairs:
                is_largest = isinstance(each, RunningMax)
                proofs.append(_one(now > need if is_largest else need < np.float32(0)))
        one = mosaic.laid(jnp.full((ROWS,), 1, np.float32), ROWS)
        return functools.reduce(jnp.multiply, proofs, one)


def _one(condition: Any) -> Any:
    """1 where that is so, else 0."""
    return jnp.where(condition, np.float32(1), np.float32(0))
