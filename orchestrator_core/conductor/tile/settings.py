"""What tiles may be like."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.conductor.goal import Goal


@dataclass(frozen=True, slots=True)
class TileSettings:
    """Attributes:
    min_elements: of a value that is worth tiling. min_axis: of an axis that is.
    tile: elements of a tile along each axis; None to choose.
    shape: along the roles ``i`` and ``j`` of those of a first pass, as a plan has them.
    max_elements: of the largest value of one tile.
    skips: may tiles be left out that are proven to change nothing?
    always: is every region taken that is right?
    """

    min_elements: int = 2**20
    min_axis: int = 128
    tile: int | None = None
    shape: tuple[int, int] | None = None
    max_elements: int = 2**20
    skips: bool = True
    always: bool = False


def settings_for(goal: Goal) -> TileSettings:
    """Where every right rewrite is wanted, tiles are small and often ragged."""
    if not goal.always:
        return TileSettings()
    return TileSettings(min_elements=2**12, min_axis=48, tile=48, always=True)
