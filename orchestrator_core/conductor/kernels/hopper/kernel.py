"""Two products with anything between them, as one kernel for Hopper.

A program has two groups of warps with a tile of rows each, and a third that copies columns into
shared memory some tiles ahead. The two take turns: while one multiplies, the other does what is
between the products. As in Shah and others, "FlashAttention-3" (2024).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.facts.axes import ROLES, Role, full_shape
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.kernels import pallas
from orchestrator_core.conductor.kernels.cell import Cell, cell_of
from orchestrator_core.conductor.kernels.cut import Cut
from orchestrator_core.conductor.kernels.ending import Ending, cut_of_rows
from orchestrator_core.conductor.kernels.hopper import mosaic
from orchestrator_core.conductor.kernels.hopper.computing import Computing
from orchestrator_core.conductor.kernels.hopper.copying import copying
from orchestrator_core.conductor.kernels.hopper.held import Held, scratch_of
from orchestrator_core.conductor.kernels.hopper.sizes import (
    COLUMNS,
    GROUPS,
    ROWS,
    STAGES,
    WIDEST,
)
from orchestrator_core.conductor.kernels.hopper.two_products import TwoProducts
from orchestrator_core.conductor.kernels.hopper.visit import Visit
from orchestrator_core.conductor.kernels.live import Watch
from orchestrator_core.conductor.kernels.pallas import Launch
from orchestrator_core.conductor.kernels.pass_kernel import PassKernel
from orchestrator_core.conductor.kernels.tile_graph import tile_graph
from orchestrator_core.conductor.refused import Refused
from orchestrator_core.conductor.tile.accumulators import RunningMax, Summed
from orchestrator_core.conductor.tile.passes import Pass


@dataclass(frozen=True)
class HopperKernel:
    """Attributes:
    usual: the same for any GPU, with tiles as large as those of all groups together; used where
        tiles were left out that should not have been.
    one: the same with tiles of one group. masked, plain: what is done with a tile, and with one
        that no mask cuts.
    stages: tiles of columns in shared memory. ending: what is done with a row before it is written;
        None if it is written as it is.
    """

    usual: PassKernel
    one: PassKernel
    masked: TwoProducts
    plain: TwoProducts | None
    stages: int
    ending: Ending | None = None

    @classmethod
    def of(cls, usual: PassKernel) -> HopperKernel:
        """Raises:
        Refused: if it is something else.
        """
        side = usual.side
        outer, inner = side.outer, side.inner
        are_sums = all(isinstance(each, RunningMax | Summed) for each in side.accumulators)
        if usual.watch is not None and not are_sums:
            raise Refused("something is accumulated that is no sum")
        if side.length[outer] % (GROUPS * ROWS) or side.length[inner] % COLUMNS:
            raise Refused("lengths that are no multiples of a tile")
        size: dict[Role, int] = {outer: ROWS, inner: COLUMNS}
        one = PassKernel.of(side, {role: size[role] for role in ROLES}, Launch())
        split = functools.partial(TwoProducts.of, outer=outer, inner=inner, tile=(ROWS, COLUMNS))
        masked = split(one.cell)
        plain = None
        if usual.plain is not None:
            plain = split(cell_of(tile_graph(side, one.size, usual.plain.recipe)))
        made = cls(usual, one, masked, plain, 0)
        if made.is_turned(masked.query):
            raise Refused("queries lie side by side, not one after another")
        stages = min(STAGES, made.most_stages)
        if stages < 2:
            raise Refused("two tiles of columns do not fit into shared memory")
        return cls(usual, one, masked, plain, stages)

    @property
    def leaves(self) -> tuple[Cut, ...]:
        return self.one.leaves

    @property
    def widths(self) -> tuple[int, int]:
        """Elements along which queries and keys are multiplied, and of a value."""
        found = []
        for k in (self.masked.key, self.masked.value):
            (width,) = [size for size, role in self.leaves[k].parts if role is None and size > 1]
            if width % 64 or width > WIDEST:
                raise Refused(f"rows of {width} elements")
            found.append(width)
        return found[0], found[1]

    @property
    def most_stages(self) -> int:
        """That fit into shared memory beside the queries of all groups."""
        d, width = self.widths
        queries = GROUPS * ROWS * d * 2
        return (mosaic.MOST_SHARED - queries) // (COLUMNS * (d + width) * 2)

    is_interpreted = False

    @property
    def side(self) -> Pass:
        return self.usual.side

    @property
    def size(self) -> dict[Role, int]:
        return self.usual.size

    @property
    def rows(self) -> int:
        return self.usual.rows

    @property
    def columns(self) -> int:
        return self.usual.columns

    @property
    def state(self) -> tuple[Cut, ...]:
        return self.one.state

    @property
    def cell(self) -> Cell:
        return self.one.cell

    def with_ending(self, ending: Ending, watch: Watch | None) -> HopperKernel:
        usual = dataclasses.replace(self.usual, watch=watch)
        return dataclasses.replace(self, usual=usual, ending=ending)

    @property
    def part(self) -> int:
        """Elements along the outer role that are finished together."""
        return ROWS

    @property
    def words(self) -> str:
        """How it is launched."""
        return f"Hopper, {self.stages} stages"

    @property
    def flags(self) -> Cut | None:
        """Of what tells of each row whether it is right; None if all are."""
        if self.usual.watch is None and (self.ending is None or not self.ending.is_checked):
            return None
        outer = self.side.outer
        return cut_of_rows(outer, self.side.length[outer], self.cell.count)

    @property
    def results(self) -> list[tuple[Cut, Any]]:
        """What is written, beside flags, and its type."""
        if self.ending is not None:
            return [(cut, value.dtype) for value, cut in self.ending.results]
        return [
            (cut, each.dtype) for each, cut in zip(self.side.accumulators, self.state, strict=True)
        ]

    def __call__(self, values: Mapping[Value, Any]) -> list[Any]:
        """What is accumulated, from the values that leaves are cut from; or what the ending writes,
        and then for each cell and row 0 if it is in doubt, else 1."""
        made = list(self._run(values))
        if self.ending is not None:
            return self.ending.whole(made)
        whole = [
            jnp.reshape(array, full_shape(cut.spec))
            for cut, array in zip(self.state, made, strict=False)
        ]
        return whole if self.flags is None else self._proven(whole, made[-1], values)

    def _proven(self, made: list[Any], flags: Any, values: Mapping[Value, Any]) -> list[Any]:
        """By the kernel for any GPU, which visits all that matters, if something is not proven."""

        def kept(made: list[Any], arrays: list[Any]) -> list[Any]:
            return made

        def again(made: list[Any], arrays: list[Any]) -> list[Any]:
            return self.usual(dict(zip(values, arrays, strict=True)))

        arrays = list(values.values())
        found: list[Any] = lax.cond((flags == 1).all(), kept, again, made, arrays)
        return found

    def _run(self, values: Mapping[Value, Any]) -> Sequence[Any]:
        leaves = zip(self.one.side.recipe.leaves, self.leaves, strict=True)
        given = [jnp.reshape(values[key[0]], cut.shape) for key, cut in leaves]
        scratch = scratch_of(self, [array.dtype for array in given])
        if self.usual.watch is not None:
            given += self.usual.watch.arrays(values)
        if self.usual.plain is not None and self.plain is not None:
            given.append(jnp.asarray(self.usual.plain.bounds))
        outputs = [pallas.output(cut.shape, dtype) for cut, dtype in self.results]
        if self.flags is not None:
            outputs.append(pallas.output(self.flags.shape, np.float32))
        # Rows first: programs that run at the same time read the same columns.
        grid = (self.rows, *self.cell.count.values())
        names = ["row", *(f"cell_{k}" for k in range(len(self.cell.count)))]
        return mosaic.call(self._program, grid, names, outputs, scratch, GROUPS + 1)(*given)

    def is_turned(self, leaf: int) -> bool:
        """Do columns lie behind each other, not one in a row?"""
        return self.leaves[leaf].parts[-1][1] is not None

    def _program(self, refs: Sequence[Any], scratch: Sequence[Any]) -> None:
        visit, held = Visit.of(self, refs), Held(*scratch)
        mosaic.when(visit.group < GROUPS)(lambda: Computing.of(self, visit, held).run())
        mosaic.when(visit.group == GROUPS)(lambda: copying(self, visit, held))
