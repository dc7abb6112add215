"""Tiles side by side along both roles; those at the end of an axis may be of another size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator_core.conductor.facts.axes import Role


@dataclass(frozen=True, slots=True)
class Segment:
    """Tiles of one size, one after another along an axis.

    Attributes:
        first: the element where they begin. count: how many. size: elements of each.
    """

    first: int
    count: int
    size: int

    @property
    def end(self) -> int:
        return self.first + self.count * self.size


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

    def ends(self, role: Role) -> tuple[Any, Any]:
        """The first and the last element of each tile."""
        pairs = [
            (each.first + each.size * k, each.first + each.size * (k + 1) - 1)
            for each in self.segments[role]
            for k in range(each.count)
        ]
        first, last = np.array(pairs, float).reshape(-1, 2).T
        return first, last

    def along(self, role: Role, each: Any, outer: Role) -> Any:
        """Numbers for tiles along a role as an array of (outer tiles, inner tiles)."""
        return each[:, None] if role == outer else each[None, :]
