"""Run: places along an axis of an array, one for each step of a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax


@dataclass(frozen=True)
class Run:
    """Places from `start` on along an axis, one for each step; the last one first if turned."""

    axis: int
    start: int
    is_turned: bool
    length: int

    def cut(self, array: Any, kept: bool) -> Any:
        """The slices of an array in the order of steps; `kept`: each with the axis, of size 1."""
        part = lax.slice_in_dim(array, self.start, self.start + self.length, axis=self.axis)
        steps = jnp.moveaxis(self._in_order(part, self.axis), self.axis, 0)
        return jnp.expand_dims(steps, self.axis + 1) if kept else steps

    def put(self, array: Any, slices: Any, is_added: bool) -> Any:
        """The array with slices, which are in the order of steps, in their places."""
        if slices.ndim > array.ndim:
            slices = jnp.squeeze(slices, self.axis + 1)
        whole = self._in_order(jnp.moveaxis(slices, 0, self.axis), self.axis)
        if is_added:
            part = lax.slice_in_dim(array, self.start, self.start + self.length, axis=self.axis)
            whole = part + whole
        if whole.shape == array.shape:
            return whole
        return lax.dynamic_update_slice_in_dim(array, whole, self.start, self.axis)

    def _in_order(self, array: Any, axis: int) -> Any:
        return jnp.flip(array, axis) if self.is_turned else array
