"""Windows: the diagonals that one tile has, out of all that a pairwise value has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.facts.axes import Spec
from orchestrator_core.conductor.facts.lines.diagonals import by_columns, by_diagonals
from orchestrator_core.conductor.facts.lines.skew import Skew
from orchestrator_core.conductor.facts.tiles import Tile


@dataclass(frozen=True)
class Window:
    """Attributes:
    skew: which diagonal is where. rows, columns: of the tile. at: its first row and column, which
        may be traced. axes: that rows and columns are of in a tile.
    """

    skew: Skew
    rows: int
    columns: int
    at: tuple[Any, Any]
    axes: tuple[int, int]

    @classmethod
    def of(cls, skew: Skew, spec: Spec, axes: tuple[int, int], tile: Tile) -> Window:
        """Of the tile of a value that is cut as the spec says."""
        row, column = (_along(spec, axis, tile) for axis in axes)
        rows, columns = row[1] or skew.rows, column[1] or skew.columns
        return cls(skew, rows, columns, (row[0], column[0]), axes)

    @property
    def width(self) -> int:
        return self.rows + self.columns - 1

    @property
    def first(self) -> Any:
        """Of its diagonals, as columns of what is skewed."""
        s = self.skew
        ends = ((s.turn, self.rows), (s.step, self.columns))
        inside = sum(min(sign * (size - 1), 0) for sign, size in ends)
        return s.turn * self.at[0] + s.step * self.at[1] + s.first + inside

    def is_met(self) -> Any:
        """Is anything in the tile that is no zero beyond the ends?"""
        return (self.first < self.skew.count) & (self.first + self.width > 0)

    def cut(self, table: Any, axis: int) -> Any:
        """Its part of something about each diagonal."""
        start = self.first - self.skew.least
        return lax.dynamic_slice_in_dim(table, start, self.width, axis)

    def added(self, table: Any, part: Any, axis: int) -> Any:
        start = self.first - self.skew.least
        old = lax.dynamic_slice_in_dim(table, start, self.width, axis)
        return lax.dynamic_update_slice_in_dim(table, old + part, start, axis)

    def in_columns(self, array: Any) -> Any:
        """Of rows and diagonals: the tile, zero beyond the ends."""
        last = (array.ndim - 2, array.ndim - 1)
        made = by_columns(jnp.moveaxis(array, self.axes, last), self.skew, self.rows, self.columns)
        return self.inside(jnp.moveaxis(made, last, self.axes))

    def in_diagonals(self, array: Any) -> Any:
        """Of a tile: rows and diagonals."""
        last = (array.ndim - 2, array.ndim - 1)
        made = by_diagonals(jnp.moveaxis(self.inside(array), self.axes, last), self.skew)
        return jnp.moveaxis(made, last, self.axes)

    def inside(self, array: Any) -> Any:
        """A tile, zero beyond the ends."""
        if self.skew.is_total:
            return array
        row, column = (
            lax.broadcasted_iota(jnp.int32, _shape(array.ndim, axis, size), axis)
            for axis, size in zip(self.axes, (self.rows, self.columns), strict=True)
        )
        s = self.skew
        row, column = row + self.at[0], column + self.at[1]
        at = s.turn * row + s.step * column + s.first
        is_there = (at >= 0) & (at < s.count) & (row >= s.begin) & (row < s.end)
        return jnp.where(is_there, array, jnp.zeros((), array.dtype))


def _shape(rank: int, axis: int, size: int) -> tuple[int, ...]:
    return tuple(size if k == axis else 1 for k in range(rank))


def _along(spec: Spec, axis: int, tile: Tile) -> tuple[Any, int]:
    """First element and size along an axis; size 0 if no tile cuts it."""
    role = next((role for _, role in spec[axis]), None)
    return (0, 0) if role is None else (tile.offset[role], tile.size[role])
