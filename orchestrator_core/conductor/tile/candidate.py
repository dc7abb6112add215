"""Regions that may be tiled, and what that would spare."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orchestrator_core.conductor.facts.axes import Role
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.tile.accumulators import KLargest
from orchestrator_core.conductor.tile.levels import levels_of
from orchestrator_core.conductor.tile.passes import Pass, passes_of
from orchestrator_core.conductor.tile.plans import Levels
from orchestrator_core.conductor.tile.region import RETURNED, Region, grown
from orchestrator_core.conductor.tile.settings import TileSettings
from orchestrator_core.conductor.tile.skews.of_pass import rows_of_skews


@dataclass(frozen=True)
class Candidate:
    """A region, how it would be tiled, and what that is worth.

    Attributes:
        kept_bytes: of what it reads and accumulates. owned_bytes: of what it need not keep.
        largest_bytes: of the largest of those. escaped_bytes: of what it must write as a whole.
    """

    region: Region
    levels: Levels
    passes: dict[int, Pass]
    kept_bytes: int
    owned_bytes: int
    largest_bytes: int
    escaped_bytes: int

    @classmethod
    def of(cls, region: Region, levels: Levels) -> Candidate:
        passes = passes_of(region, levels)
        leaves = {value for one in passes.values() for value in one.recipe.values}
        made = [node.output for node in region.boundaries]
        owned = region.owned
        return cls(
            region,
            levels,
            passes,
            sum(each.nbytes for each in [*leaves.difference(region.stored), *made]),
            sum(each.nbytes for each in owned),
            max((each.nbytes for each in owned), default=0),
            sum(each.nbytes for each in region.stored),
        )

    @property
    def is_empty(self) -> bool:
        """Has anything that it reads or makes an axis of length 0?"""
        read = (value for one in self.passes.values() for value in one.recipe.values)
        made = (node.output for node in self.region.boundaries)
        return any(value.size == 0 for value in (*read, *made))

    @property
    def rows_of_skews(self) -> Role | None:
        """The role along which there are the rows of what is skewed."""
        return next((role for one in self.passes.values() for role in rows_of_skews(one)), None)

    @property
    def ranks(self) -> list[KLargest]:
        made = (each for one in self.passes.values() for each in one.others)
        return [each for each in made if isinstance(each, KLargest)]

    @property
    def rows_of_ranks(self) -> Role | None:
        """The role along which there are the rows of which several elements are found."""
        return next((each.row for each in self.ranks if each.row is not None), None)

    @property
    def worth(self) -> float:
        return (self.owned_bytes - 3 * self.escaped_bytes) / max(self.kept_bytes, 1)


def pairs(value: Value, settings: TileSettings) -> Iterator[tuple[int, int]]:
    """Its axes that may be tiled together."""
    long = [k for k, size in enumerate(value.shape) if size >= settings.min_axis]
    return itertools.combinations(long, 2)


def is_pairwise(atom: Atom, settings: TileSettings) -> bool:
    """Is it large, with two long axes?"""
    if not isinstance(atom, Value) or atom.size < settings.min_elements:
        return False
    return any(True for _ in pairs(atom, settings))


def regions_of(flow: Dataflow, seed: Value, settings: TileSettings) -> list[Region]:
    """What a value could be tiled with."""
    return [grown(flow, seed, axes) for axes in pairs(seed, settings)]


def best(regions: Iterable[Region], goal: Goal) -> list[Candidate]:
    """Those of which tiles are accumulated, the best first."""
    found = [
        Candidate.of(region, levels_of(region, goal.is_strict))
        for region in regions
        if region.boundaries
    ]
    return sorted(found, key=lambda each: -each.worth)


def reader_of_whole(regions: Iterable[Region]) -> str:
    """What keeps pairs from being made in tiles and forgotten, though none is given: such as a
    sort. Empty if nothing does, or if they are returned anyway."""
    made = [set(each.escapes.values()) for each in regions if each.is_made]
    return next((min(whys) for whys in made if whys and RETURNED not in whys), "")


def refusal(candidate: Candidate, settings: TileSettings) -> str:
    """Why it is not worth while, whatever is wanted; empty if it may be."""
    if candidate.is_empty:
        return "there is an axis of length 0"
    if candidate.escaped_bytes * 2 >= candidate.owned_bytes:
        why = "; ".join(dict.fromkeys(candidate.region.escapes.values()))
        return f"most of it is needed as a whole: {why}"
    if not settings.always and candidate.largest_bytes <= candidate.kept_bytes:
        return "what it reads and returns is as large as what it would not keep"
    return ""
