"""Where a program is, and which tiles of columns it visits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from orchestrator_core.conductor.facts.axes import Role
from orchestrator_core.conductor.kernels.cut import Place
from orchestrator_core.conductor.kernels.hopper import mosaic

if TYPE_CHECKING:
    from orchestrator_core.conductor.kernels.hopper.kernel import HopperKernel


@dataclass(frozen=True)
class Visit:
    """Attributes:
    leaves, live, outputs: references to what is read, to what is known of tiles, and to what is
        written. group: of warps. row: of tiles of all groups together. cells: place along roles.
    first: tile of columns that may matter. begin, end: of those that no mask cuts, the first and
        the one after the last. plain_steps: so many are these. steps: so many are all.
    """

    kernel: HopperKernel
    leaves: Sequence[Any]
    live: Sequence[Any]
    outputs: Sequence[Any]
    group: Any
    row: Any
    cells: Mapping[Role, Any]
    first: Any
    begin: Any
    end: Any
    plain_steps: Any
    steps: Any

    @classmethod
    def of(cls, kernel: HopperKernel, refs: Sequence[Any]) -> Visit:
        count, made = len(kernel.leaves), len(kernel.results) + (kernel.flags is not None)
        live = list(refs[count : len(refs) - made])
        plain = live.pop() if kernel.plain is not None else None
        row = _row(kernel)
        first, last = _visited(kernel, live, row)
        begin, end = (first, first) if plain is None else _within(plain, row, first, last)
        cells = {role: mosaic.axis_index(f"cell_{k}") for k, role in enumerate(kernel.cell.count)}
        ends = first, begin, end, end - begin, last - first
        group = mosaic.axis_index(mosaic.GROUP)
        outputs = refs[len(refs) - made :]
        return cls(kernel, refs[:count], live, outputs, group, row, cells, *ends)

    def column(self, step: Any) -> Any:
        """The tile that is visited in a step."""
        return column_of(step, self.first, self.begin, self.end)

    def at(self, leaf: int, place: Mapping[Role, Any]) -> tuple[Any, ...]:
        """Where a piece of a leaf lies in memory."""
        where = Place({**self.cells, **place}, self.kernel.one.size)
        at, _ = self.kernel.leaves[leaf].at(where)
        return tuple(at)


def column_of(step: Any, first: Any, begin: Any, end: Any) -> Any:
    """Which tile of columns is visited in a step, of those from the first on: first those from
    `begin` to before `end`."""
    other = step - (end - begin)
    before = begin - first
    masked = jnp.where(other < before, first + other, end + other - before)
    return jnp.where(other < 0, begin + step, masked)


def _row(kernel: HopperKernel) -> Any:
    """The longest row begins first, so that none is left alone at the end."""
    number, watch = mosaic.axis_index("row"), kernel.usual.watch
    is_last_first = watch is not None and watch.is_last_longest
    return kernel.rows - 1 - number if is_last_first else number


def _visited(kernel: HopperKernel, live: Sequence[Any], row: Any) -> tuple[Any, Any]:
    """The first tile of the row that may matter, and the one after the last."""
    if kernel.usual.watch is None:
        return jnp.int32(0), jnp.int32(kernel.columns)
    return live[0][0, row], live[0][1, row]


def _within(plain: Any, row: Any, first: Any, last: Any) -> tuple[Any, Any]:
    """Of the tiles that are visited, the first that no mask cuts and the one after the last."""
    begin, end = (jnp.minimum(jnp.maximum(plain[k, row], first), last) for k in (0, 1))
    return begin, end
