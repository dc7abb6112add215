"""Tiles side by side along both roles; those at the end of an axis may be of another size, or share
elements with the one before them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.axes import Role

AT_ONCE = 2**18
"""Tiles that are looked at together while planning: long sequences have many millions."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Tiles of one size, one after another along an axis.

    Attributes:
        first: the element where they begin. count: how many. size: elements of each.
        shared: elements that the last tile has of the one before it.
    """

    first: int
    count: int
    size: int
    shared: int = 0

    @property
    def end(self) -> int:
        return self.first + self.count * self.size - self.shared

    def start(self, k: Any) -> Any:
        """The first element of tile `k`, which may be traced."""
        start = self.first + k * self.size
        return jnp.minimum(start, self.end - self.size) if self.shared else start

    def stale(self, k: Any) -> Any:
        """How many elements of tile `k` the one before it has, too."""
        return self.first + k * self.size - self.start(k)

    def strips(self, most: int) -> Iterator[Segment]:
        """At most so many tiles at once."""
        for k in range(0, self.count, most):
            count, is_last = min(most, self.count - k), k + most >= self.count
            shared = self.shared if is_last else 0
            yield Segment(self.first + k * self.size, count, self.size, shared)

    @property
    def starts(self) -> Any:
        """The first elements of all tiles."""
        return np.minimum(self.first + self.size * np.arange(self.count), self.end - self.size)


@dataclass(frozen=True)
class Blocks:
    """Attributes:
    segments: of each role, in order.
    """

    segments: Mapping[Role, tuple[Segment, ...]]

    @classmethod
    def even(cls, count: Mapping[Role, int], size: Mapping[Role, int]) -> Blocks:
        """So many tiles of one size."""
        return cls({role: (Segment(0, count[role], size[role]),) for role in count})

    def count(self, role: Role) -> int:
        return sum(each.count for each in self.segments[role])

    def strips(self, outer: Role) -> Iterator[Blocks]:
        """Some rows of tiles at once."""
        (inner,) = self.segments.keys() - {outer}
        most = max(1, AT_ONCE // max(1, self.count(inner)))
        for segment in self.segments[outer]:
            for strip in segment.strips(most):
                yield Blocks({**self.segments, outer: (strip,)})

    def ends(self, role: Role) -> tuple[Any, Any]:
        """The first and the last element of each tile."""
        segments = self.segments[role]
        first = np.concatenate([each.starts for each in segments]).astype(float)
        last = np.concatenate([each.starts + (each.size - 1) for each in segments]).astype(float)
        return first, last

    def along(self, role: Role, each: Any, outer: Role) -> Any:
        """Numbers for tiles along a role as an array of (outer tiles, inner tiles)."""
        return each[:, None] if role == outer else each[None, :]
