"""Running sums and the like in blocks: what each block comes to, what stands before it, and within.

``y_j = before_b + sum_(k in b, k <= j) x_k`` for ``j`` in block ``b``, as in Blelloch, "Prefix sums
and their applications" (1990). A block's own part does not depend on how many are done at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.facts.lines.shift import Shift
from orchestrator_core.conductor.tile.cumulative.products import PART, running_sums
from orchestrator_core.conductor.tile.cumulative.trees import RUNNING, running
from orchestrator_core.conductor.tile.neutral import neutral

TOTALS: Mapping[str, Callable[..., Any]] = {
    "cumsum": jnp.sum,
    "cumprod": jnp.prod,
    "cummax": jnp.max,
    "cummin": jnp.min,
    "cumlogsumexp": jax.scipy.special.logsumexp,
}
"""By primitive, of all along an axis."""

MONOIDS: Mapping[str, str] = {
    "cumsum": "sum",
    "cumprod": "product",
    "cummax": "max",
    "cummin": "min",
    "cumlogsumexp": "max",
}
"""By primitive, one that has the same neutral element."""


@dataclass(frozen=True)
class Running:
    """Attributes:
    name: of the primitive. axis: it runs along this. is_reverse: from the end?
    block: elements of a block; of the last perhaps fewer.
    is_exclusive: of all before alone, without an element's own?
    is_exact: must its numbers be the same in every bit, whichever tile they are made in?
    """

    name: str
    axis: int
    is_reverse: bool
    block: int
    is_exclusive: bool = False
    is_exact: bool = False

    def count(self, length: int) -> int:
        """Blocks of an axis."""
        return -(-length // self.block)

    def neutral(self, dtype: Any) -> Any:
        """What changes nothing."""
        return neutral(MONOIDS[self.name], dtype)

    def is_of_all_before(self, shift: Shift, dtype: Any) -> bool:
        """Is it, once it or what it is of is moved on, without an element's own?"""
        by = -1 if self.is_reverse else 1
        is_along = (shift.axis, shift.by) == (self.axis, by)
        return is_along and bool(shift.number == self.neutral(dtype))

    def totals(self, array: Any) -> Any:
        """Of each block of an array that begins where a block does."""
        return TOTALS[self.name](self._in_blocks(array), axis=self.axis + 1).astype(array.dtype)

    def total(self, totals: Any) -> Any:
        """Of all blocks; the axis is of one element then."""
        return TOTALS[self.name](totals, axis=self.axis, keepdims=True)

    def borders(self, totals: Any) -> Any:
        """What it comes to where the first block begins, and after each of them."""
        side = (0, 1) if self.is_reverse else (1, 0)
        return self._padded(self._along(totals, self.axis), self.axis, *side)

    def values(self, array: Any, borders: Any) -> Any:
        """Of an array that begins where a block does, from what it comes to at their borders."""
        of_two, _ = RUNNING[self.name]
        count = borders.shape[self.axis] - 1
        sides = [lax.slice_in_dim(borders, k, count + k, axis=self.axis) for k in (0, 1)]
        before, after = sides[::-1] if self.is_reverse else sides
        within = self._within(self._in_blocks(array), after)
        made = of_two(within, jnp.expand_dims(before, self.axis + 1))
        shape, length = list(array.shape), array.shape[self.axis]
        shape[self.axis] = count * self.block
        return lax.slice_in_dim(made.reshape(shape), 0, length, axis=self.axis)

    def _within(self, blocks: Any, after: Any) -> Any:
        """From the beginning of each block. What comes after is finite only if all before is."""
        if self.name != "cumsum" or not jnp.issubdtype(blocks.dtype, jnp.floating):
            return self._one_by_one(blocks)
        if self.is_exact or self.block % PART:
            return self._one_by_one(blocks)
        is_finite = jnp.isfinite(after).all()
        return lax.cond(is_finite, self._by_products, self._one_by_one, blocks)

    def _one_by_one(self, blocks: Any) -> Any:
        made = self._along(blocks, self.axis + 1)
        return self._moved(made, self.axis + 1) if self.is_exclusive else made

    def _by_products(self, blocks: Any) -> Any:
        return running_sums(blocks, self.axis + 1, self.is_reverse, self.is_exclusive)

    def _along(self, array: Any, axis: int) -> Any:
        return running(self.name, array, axis, self.is_reverse)

    def _moved(self, array: Any, axis: int) -> Any:
        """To the next place."""
        return self._padded(array, axis, *((-1, 1) if self.is_reverse else (1, -1)))

    def _in_blocks(self, array: Any) -> Any:
        """With an axis of blocks, and one of their elements, in the place of the axis."""
        count = self.count(array.shape[self.axis])
        array = self._padded(array, self.axis, 0, count * self.block - array.shape[self.axis])
        shape = [*array.shape]
        shape[self.axis : self.axis + 1] = [count, self.block]
        return array.reshape(shape)

    def _padded(self, array: Any, axis: int, low: int, high: int) -> Any:
        config = [(low, high, 0) if k == axis else (0, 0, 0) for k in range(array.ndim)]
        return lax.pad(array, np.asarray(self.neutral(array.dtype), array.dtype), config)
