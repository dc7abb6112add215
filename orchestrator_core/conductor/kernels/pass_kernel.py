"""A side of a pass as one kernel: a program for each cell and row of tiles.

The program walks over the tiles of its row. What it accumulates is held in registers, as in Dao and
others, "FlashAttention" (2022); nothing pairwise reaches memory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from orchestrator_core.conductor.facts.axes import Role, full_shape
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.kernels import pallas
from orchestrator_core.conductor.kernels.cell import Cell, cell_of
from orchestrator_core.conductor.kernels.cut import Cut
from orchestrator_core.conductor.kernels.ending import Ending
from orchestrator_core.conductor.kernels.live import Watch, counts, watch_of
from orchestrator_core.conductor.kernels.pallas import Launch
from orchestrator_core.conductor.kernels.plain import Plain, plain_of
from orchestrator_core.conductor.kernels.row import Row
from orchestrator_core.conductor.kernels.tile_graph import tile_graph
from orchestrator_core.conductor.refused import Refused
from orchestrator_core.conductor.tile.accumulators import Accumulator
from orchestrator_core.conductor.tile.passes import Pass


@dataclass(frozen=True)
class PassKernel:
    """Attributes:
    side: of a pass. size: of its tiles. cell: what is done with one tile of one cell.
    watch: which tiles need not be visited; None if all must.
    plain: which tiles no mask cuts; None if there are few. plain_cell: what is done with these.
    ending: what is done with a row before it is written; None if it is written as it is.
    """

    side: Pass
    size: dict[Role, int]
    cell: Cell
    watch: Watch | None
    launch: Launch
    is_interpreted: bool = False
    plain: Plain | None = None
    plain_cell: Cell | None = None
    ending: Ending | None = None

    @classmethod
    def of(
        cls, side: Pass, size: dict[Role, int], launch: Launch, *, is_interpreted: bool = False
    ) -> PassKernel:
        """Raises:
        Refused: if it is not possible.
        """
        cell, watch = cell_of(tile_graph(side, size)), watch_of(side, size)
        plain = plain_of(side, size, watch)
        other = None if plain is None else cell_of(tile_graph(side, size, plain.recipe))
        if other is not None and other.count != cell.count:
            plain, other = None, None
        made = cls(side, size, cell, watch, launch, is_interpreted, plain, other)
        for cut in made.state:
            if not set(cell.count) <= cut.roles:
                raise Refused("heads and the like are summed")
        return made

    @property
    def usual(self) -> PassKernel:
        """What is there on any GPU."""
        return self

    def with_ending(self, ending: Ending, watch: Watch | None) -> PassKernel:
        return dataclasses.replace(self, ending=ending, watch=watch)

    @property
    def part(self) -> int:
        """Elements along the outer role that are finished together."""
        return self.size[self.side.outer]

    @property
    def words(self) -> str:
        """How it is launched."""
        return f"{self.size} {self.launch}"

    @property
    def leaves(self) -> tuple[Cut, ...]:
        return tuple(map(Cut, self.cell.leaves))

    @property
    def state(self) -> tuple[Cut, ...]:
        return tuple(map(Cut, self.cell.state))

    @property
    def rows(self) -> int:
        return counts(self.side, self.size)[self.side.outer]

    @property
    def columns(self) -> int:
        return counts(self.side, self.size)[self.side.inner]

    def __call__(self, values: Mapping[Value, Any]) -> list[Any]:
        """What is accumulated, from the values that leaves are cut from; or what the ending writes,
        and then, if it is checked, for each cell and row 0 if it is in doubt, else 1."""
        leaves = zip(self.side.recipe.leaves, self.leaves, strict=True)
        given = [jnp.reshape(values[key[0]], cut.shape) for key, cut in leaves]
        if self.watch is not None:
            given += self.watch.arrays(values)
        if self.plain is not None:
            given.append(jnp.asarray(self.plain.bounds))
        grid = (self.rows, *self.cell.count.values())
        run = pallas.call(self._program, grid, self.outputs, self.launch, self.is_interpreted)
        made = run(*given)
        if self.ending is not None:
            return self.ending.whole(made)
        each = zip(self.side.accumulators, self.state, made, strict=True)
        return [self._whole(*one) for one in each]

    @property
    def outputs(self) -> list[Any]:
        """What the kernel writes."""
        if self.ending is not None:
            return self.ending.outputs
        return [
            pallas.output((*self.before(cut), *cut.shape), each.dtype)
            for each, cut in zip(self.side.accumulators, self.state, strict=True)
        ]

    def before(self, cut: Cut) -> tuple[int, ...]:
        """Of what no row has for itself, each row makes its part."""
        return () if self.side.outer in cut.roles else (self.rows,)

    def _whole(self, each: Accumulator, cut: Cut, array: Any) -> Any:
        if self.before(cut):
            array = combined(each, array)
        return jnp.reshape(array, full_shape(cut.spec))

    def _program(self, *refs: Any) -> None:
        """What one program does."""
        row = Row(self, refs)
        state, (first, last) = row.start(), row.bounds()
        if self.plain_cell is not None:
            plain = row.plain()
            state = row.through(*plain, state, self.plain_cell)
            state = row.through_others(first, plain, last, state)
        else:
            state = row.through(first, last, state, self.cell)
        if self.watch is not None:
            rest = jnp.where(row.is_proven(state), row.zero, row.zero + self.columns)
            outside = jnp.minimum(first, rest), jnp.minimum(last, rest)
            state = row.through_others(0, outside, rest, state)
        row.finish(state)


def combined(each: Accumulator, parts: Any) -> Any:
    """The parts of all rows, of which each began with what changes nothing."""
    kind = getattr(each, "kind", "sum")
    function: Callable[..., Any] = _COMBINE[kind]
    return function(parts, axis=0).astype(parts.dtype)


_COMBINE: Mapping[str, Callable[..., Any]] = {
    "sum": jnp.sum,
    "max": jnp.max,
    "min": jnp.min,
    "product": jnp.prod,
    "and": jnp.all,
    "or": jnp.any,
}
