"""Which regions are tiled, in tiles of which size."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.facts.axes import ROLES, Role
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.tile.accumulators import KLargest
from orchestrator_core.conductor.tile.cumulative.aligned import aligned
from orchestrator_core.conductor.tile.levels import levels_of
from orchestrator_core.conductor.tile.passes import Pass, passes_of
from orchestrator_core.conductor.tile.plans import Levels
from orchestrator_core.conductor.tile.price import PassPrice, Prices
from orchestrator_core.conductor.tile.region import RETURNED, Region, grown
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.settings import TileSettings
from orchestrator_core.conductor.tile.shared import are_shared
from orchestrator_core.conductor.tile.sizes import even
from orchestrator_core.conductor.tile.skews.of_pass import rows_of_skews

SIZES = (32, 64, 128, 256, 512, 1024, 2048)
"""Elements of a tile along each axis."""

SEARCHED = 3
"""How many of them, the largest that fit, are priced."""

SLOWER = 1.3
"""By which factor a form may be slower if it is smaller and memory is wanted."""


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
    if candidate.escaped_bytes * 2 >= candidate.owned_bytes:
        why = "; ".join(dict.fromkeys(candidate.region.escapes.values()))
        return f"most of it is needed as a whole: {why}"
    if not settings.always and candidate.largest_bytes <= candidate.kept_bytes:
        return "what it reads and returns is as large as what it would not keep"
    return ""


Of = TypeVar("Of")

LEVEL = 1.25
"""So close, prices do not tell forms apart: larger tiles are taken, which begin fewer loops."""


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


def form_of(candidate: Candidate, goal: Goal, settings: TileSettings, prices: Prices) -> Form:
    """The fastest form, or the one with the largest tiles that stay in the cache of those that are
    level with it; if memory is wanted, the smallest of those that are nearly as fast. Where memory
    is limited, of those that fit."""
    shapes = _shapes(candidate, settings, goal.memory is not None)
    forms = [_form(candidate, shape, settings, prices) for shape in shapes]
    fit = [form for form in forms if goal.memory is None or form.temp_bytes <= goal.memory]
    forms = fit or [min(forms, key=lambda form: form.temp_bytes)]
    fastest = min(form.seconds for form in forms)
    if goal.objective == "memory":
        near = [form for form in forms if form.seconds <= SLOWER * fastest]
        return min(near, key=lambda form: form.temp_bytes)
    level = [form for form in forms if form.seconds <= LEVEL * fastest]
    cached = [form for form in level if _is_cached(candidate, form)]
    if candidate.rows_of_skews is not None or candidate.rows_of_ranks is not None:
        return min(cached or level, key=lambda form: form.seconds)
    form = max(cached, key=lambda form: form.size["i"], default=level[0])
    is_free = settings.tile is None and settings.shape is None and goal.memory is None
    return _for_all_cores(candidate, form, settings, prices) if is_free else form


def _for_all_cores(
    candidate: Candidate, form: Form, settings: TileSettings, prices: Prices
) -> Form:
    """If its products are too small for all cores, the first in larger tiles whose products are
    not, if it is level with this one: prices do not know of cores."""
    if this_device().platform != "cpu" or _are_shared(form.passes.values()):
        return form
    outer, size = first_of(candidate.passes).outer, form.size["i"]
    wide = (size, 2 * size) if outer == ROLES[0] else (2 * size, size)
    for shape in (wide, (2 * size, 2 * size)):
        if _largest(candidate, shape) > settings.max_elements:
            break
        if _are_shared(_runners(candidate, shape, settings).values()):
            wider = _form(candidate, shape, settings, prices)
            return wider if wider.seconds <= LEVEL * form.seconds else form
    return form


def _are_shared(runners: Iterable[Runner]) -> bool:
    return all(are_shared(runner.one, runner.size) for runner in runners)


def _is_cached(candidate: Candidate, form: Form) -> bool:
    """Does the largest value of a tile stay in the cache?"""
    largest = max(runner.one.largest(runner.size) for runner in form.passes.values())
    itemsize = candidate.region.seed.nbytes // max(candidate.region.seed.size, 1)
    return largest * itemsize <= this_device().cache_bytes


def _form(
    candidate: Candidate, shape: tuple[int, int], settings: TileSettings, prices: Prices
) -> Form:
    passes = _runners(candidate, shape, settings)
    sizes = first_of(passes).size
    return Form(sizes, passes, {level: prices.of(runner) for level, runner in passes.items()})


def _runners(
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
        made[level] = Runner(one, aligned(one, sizes), settings.skips)
    return made


def first_of(by_level: dict[int, Of]) -> Of:
    return by_level[min(by_level)]


def _shapes(
    candidate: Candidate, settings: TileSettings, is_limited: bool
) -> list[tuple[int, int]]:
    """Squares that are not too large, or else the smallest; where memory is limited, small ones as
    well."""
    if settings.shape is not None:
        return [settings.shape]
    if settings.tile is not None:
        return [(settings.tile, settings.tile)]
    fit = [size for size in SIZES if _largest(candidate, (size, size)) <= settings.max_elements]
    longest = max(candidate.region.length.values())
    some = [size for size in fit if size < 2 * longest]
    chosen = (some if is_limited else some[-SEARCHED:]) or [SIZES[0]]
    squares = [(size, size) for size in chosen]
    return squares + [each for each in _flat(candidate, chosen) if _fits(candidate, each, settings)]


def _flat(candidate: Candidate, sizes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """A tile of few rows has few diagonals more than it has columns; and of long rows the largest
    elements are found in one go."""
    rows, shapes = candidate.rows_of_skews, ((2, 2), (4, 1), (2, 1))
    if rows is None:
        rows, shapes = candidate.rows_of_ranks, ((2, 2), (4, 4), (8, 8))
    for size in sizes if rows is not None else ():
        for less, more in shapes:
            pair = (size // less, size * more)
            yield pair if rows == ROLES[0] else pair[::-1]


def _fits(candidate: Candidate, shape: tuple[int, int], settings: TileSettings) -> bool:
    return _largest(candidate, shape) <= settings.max_elements


def _largest(candidate: Candidate, shape: tuple[int, int]) -> int:
    runners = _runners(candidate, shape, TileSettings()).values()
    return max(runner.one.largest(runner.size) for runner in runners)
