"""The tiles that one program of a pass visits."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.kernels import pallas, squeezed
from orchestrator_core.conductor.kernels.cell import Cell
from orchestrator_core.conductor.kernels.cut import Place

if TYPE_CHECKING:
    from orchestrator_core.conductor.kernels.pass_kernel import PassKernel

State = tuple[Any, ...]


class Row:
    """The tiles that one program visits."""

    def __init__(self, kernel: PassKernel, refs: Sequence[Any]) -> None:
        self.kernel = kernel
        leaves, made = len(kernel.leaves), len(kernel.outputs)
        self.inputs, self.outputs = refs[:leaves], refs[len(refs) - made :]
        others = list(refs[leaves : len(refs) - made])
        self.plain_bounds: Any = others.pop() if kernel.plain is not None else None
        self.live = others
        self.number = self._number()
        self.zero = self.number * 0
        self.cells = {r: pallas.program_id(k + 1) for k, r in enumerate(kernel.cell.count)}
        self.own = [self._read(k, 0) if self._is_own(k) else None for k in range(leaves)]

    @property
    def rules(self) -> Mapping[str, squeezed.Rule]:
        return squeezed.INTERPRETED if self.kernel.is_interpreted else squeezed.RULES

    def _number(self) -> Any:
        """The longest row begins first, so that none is left alone at the end."""
        number, watch = pallas.program_id(0), self.kernel.watch
        if watch is not None and watch.is_last_longest:
            return self.kernel.rows - 1 - number
        return number

    def _is_own(self, k: int) -> bool:
        """Is it the same in all tiles of the row?"""
        return self.kernel.side.inner not in self.kernel.leaves[k].roles

    def _place(self, column: Any) -> Place:
        side, size = self.kernel.side, self.kernel.size
        at = {side.outer: self.number * size[side.outer], side.inner: column * size[side.inner]}
        return Place({**self.cells, **at}, size, self.zero)

    def _read(self, k: int, column: Any) -> Any:
        if not squeezed.is_needed(self.kernel.cell.graph, k):
            return None
        return self.kernel.leaves[k].read(self.inputs[k], self._place(column))

    def start(self) -> State:
        place = self._place(0)
        pairs = zip(self.kernel.side.accumulators, self.kernel.state, strict=True)
        return tuple(jnp.full(cut.piece(place), each.start, each.dtype) for each, cut in pairs)

    def bounds(self) -> tuple[Any, Any]:
        if self.kernel.watch is None:
            return 0, self.kernel.columns
        bounds = self.live[0]
        return bounds[0, self.number], bounds[1, self.number]

    def plain(self) -> tuple[Any, Any]:
        """Of the tiles that are visited, the first that no mask cuts and the one after the last."""
        first, last = self.bounds()
        begin, end = (self.plain_bounds[k, self.number] for k in (0, 1))
        return jnp.clip(begin, first, last), jnp.clip(end, first, last)

    def through(self, first: Any, last: Any, state: State, cell: Cell) -> State:
        made: State = lax.fori_loop(first, last, functools.partial(self._tile, cell), state)
        return made

    def through_others(
        self, first: Any, between: tuple[Any, Any], last: Any, state: State
    ) -> State:
        """From the first tile to the last without those between two: one loop, for there is one
        program of it."""
        begin, end = between
        before = begin - first

        def tile(k: Any, state: State) -> State:
            column = jnp.where(k < before, first + k, end + k - before)
            return self._tile(self.kernel.cell, column, state)

        made: State = lax.fori_loop(0, before + last - end, tile, state)
        return made

    def _tile(self, cell: Cell, column: Any, state: State) -> State:
        place = self._place(column)
        leaves = [self._read(k, column) if own is None else own for k, own in enumerate(self.own)]
        at = [place.at["i"], place.at["j"], *(self.cells[role] for role in cell.count)]
        made = squeezed.run(cell.graph, [*leaves, *state, *at], self.rules)
        return tuple(made)

    def is_proven(self, state: State) -> Any:
        """Do all tiles that were not visited change nothing?"""
        assert self.kernel.watch is not None
        needs, proofs = self.kernel.watch.needs(self.live, self.number)
        for need, each, now in zip(needs, self.kernel.side.accumulators, state, strict=True):
            proofs.append(need < each.have(now))
        return functools.reduce(jnp.logical_and, proofs)

    def finish(self, state: State) -> None:
        place, ending = self._place(0), self.kernel.ending
        if ending is not None:
            ending.write(self.outputs, state, place, self.rules)
            return
        for cut, ref, array in zip(self.kernel.state, self.outputs, state, strict=True):
            cut.write(ref, place, array, [self.number] if self.kernel.before(cut) else [])
