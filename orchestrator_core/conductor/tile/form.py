"""A region in tiles of a size."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeVar

from orchestrator_core.conductor.facts.axes import ROLES, Role
from orchestrator_core.conductor.tile.candidate import Candidate
from orchestrator_core.conductor.tile.cumulative.aligned import aligned
from orchestrator_core.conductor.tile.price import PassPrice, Prices
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.settings import TileSettings
from orchestrator_core.conductor.tile.sizes import even, near

Of = TypeVar("Of")


@dataclass(frozen=True)
class Form:
    """A candidate in tiles of a size.

    Attributes:
        size: of a tile of the first pass. passes: by level, what runs them. prices: their cost.
    """

    size: dict[Role, int]
    passes: dict[int, Runner]
    prices: dict[int, PassPrice]

    @property
    def seconds(self) -> float:
        return sum(price.seconds for price in self.prices.values())

    @property
    def temp_bytes(self) -> int:
        return max(price.work.temp_bytes for price in self.prices.values())

    @property
    def blocks(self) -> set[int]:
        """Elements of the blocks that what runs along tiles is made from; none if nothing does."""
        return {
            node.params["running"].block
            for runner in self.passes.values()
            for node, _ in runner.one.runnings
        }

    @property
    def looks(self) -> Hashable:
        """Equal of forms that do the same to other arrays."""
        return tuple(runner.looks for runner in self.passes.values())

    @classmethod
    def of(
        cls, candidate: Candidate, shape: tuple[int, int], settings: TileSettings, prices: Prices
    ) -> Form:
        """Args: shape: of a tile of the first pass, along the roles ``i`` and ``j``."""
        passes = runners_of(candidate, shape, settings)
        priced = {level: prices.of(runner) for level, runner in passes.items()}
        return cls(first_of(passes).size, passes, priced)


def runners_of(
    candidate: Candidate, shape: tuple[int, int], settings: TileSettings
) -> dict[int, Runner]:
    """Tiles are longer along the same loop in all passes, so they lie otherwise where the outer
    loop of a pass runs along the other role; but along the same role if there are skews.
    Where places are asked for they leave no rest if they can: in it equal rows may have unequal
    numbers.

    Args:
        shape: of a tile of the first pass, along the roles ``i`` and ``j``.
    """
    first, length = first_of(candidate.passes), candidate.region.length
    made, is_skewed = {}, candidate.rows_of_skews is not None
    for level, one in candidate.passes.items():
        pair = shape if is_skewed or one.outer == first.outer else shape[::-1]
        sizes = {role: min(n, length[role]) for role, n in zip(ROLES, pair, strict=True)}
        if candidate.ranks:
            sizes = {role: even(length[role], n) for role, n in sizes.items()}
        elif settings.tile is None:
            sizes = {role: near(length[role], n) for role, n in sizes.items()}
        made[level] = Runner(one, aligned(one, sizes), settings.skips)
    return made


def first_of(by_level: dict[int, Of]) -> Of:
    return by_level[min(by_level)]
