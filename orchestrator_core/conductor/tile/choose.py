"""In tiles of which size a region is done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.facts.axes import ROLES
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.tile.candidate import Candidate
from orchestrator_core.conductor.tile.form import Form, first_of, runners_of
from orchestrator_core.conductor.tile.price import Prices
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.settings import TileSettings
from orchestrator_core.conductor.tile.shared import are_shared

SIZES = (32, 64, 128, 256, 512, 1024, 2048)
"""Elements of a tile along each axis."""

SEARCHED = 3
"""How many of them, the largest that fit, are priced."""

SLOWER = 1.3
"""By which factor a form may be slower if it is smaller and memory is wanted."""

LEVEL = 1.25
"""So close, prices do not tell forms apart: larger tiles are taken, which begin fewer loops."""


def form_of(candidate: Candidate, goal: Goal, settings: TileSettings, prices: Prices) -> Form:
    """The fastest form, or the one with the largest tiles that stay in the cache of those that are
    level with it; if memory is wanted, the smallest of those that are nearly as fast. Where memory
    is limited, of those that fit."""
    shapes = _shapes(candidate, settings, goal.memory is not None)
    forms = [Form.of(candidate, shape, settings, prices) for shape in shapes]
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


def smallest_form(candidate: Candidate, settings: TileSettings, prices: Prices) -> Form:
    """The one that holds least beside what all forms hold."""
    shapes = _shapes(candidate, settings, is_limited=True)
    forms = (Form.of(candidate, shape, settings, prices) for shape in shapes)
    return min(forms, key=lambda form: form.temp_bytes)


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
        if _are_shared(runners_of(candidate, shape, settings).values()):
            wider = Form.of(candidate, shape, settings, prices)
            return wider if wider.seconds <= LEVEL * form.seconds else form
    return form


def _are_shared(runners: Iterable[Runner]) -> bool:
    return all(are_shared(runner.one, runner.size) for runner in runners)


def _is_cached(candidate: Candidate, form: Form) -> bool:
    """Does the largest value of a tile stay in the cache?"""
    largest = max(runner.one.largest(runner.size) for runner in form.passes.values())
    itemsize = candidate.region.seed.nbytes // max(candidate.region.seed.size, 1)
    return largest * itemsize <= this_device().cache_bytes


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
    runners = runners_of(candidate, shape, TileSettings()).values()
    return max(runner.one.largest(runner.size) for runner in runners)
