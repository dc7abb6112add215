"""What a pass costs: the price of its tile program, which is traced, times the tiles that are done.

Tiles that a mask makes from positions alone leaves out are counted by the same proofs as at run
time, with numbers of usual size in the place of what is not known yet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.cost import (
    Work,
    peak,
    seconds,
    seconds_of_work,
    this_device,
    work_of,
)
from orchestrator_core.conductor.facts.axes import ROLES, Role, full_shape, tile_shape
from orchestrator_core.conductor.facts.intervals import UNKNOWN, Interval
from orchestrator_core.conductor.facts.intervals.interval import exactly, is_real
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.value import Literal, Value
from orchestrator_core.conductor.tile.recipe import Key, Wanted
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.skews.unmet import unmet_work
from orchestrator_core.conductor.tile.skip import Blocks, intervals

USUAL = 100.0
"""Elements of what is not known yet are thought to be between its inverse and this."""


@dataclass(frozen=True)
class PassPrice:
    """Attributes:
    seconds: of all tiles that are done. work: of them. tiles: how many there are.
    skipped: how many of them may be left out.
    """

    seconds: float
    work: Work
    tiles: int
    skipped: int


class Prices:
    """Of passes on this device. Passes that look the same cost the same, so of many layers only one
    is traced."""

    def __init__(self) -> None:
        self._known: dict[object, PassPrice] = {}

    def of(self, runner: Runner) -> PassPrice:
        key = runner.looks
        if key not in self._known:
            self._known[key] = pass_price(runner)
        return self._known[key]


def pass_price(runner: Runner) -> PassPrice:
    """Of one pass on this device."""
    device, graph = this_device(), tile_graph(runner)
    count = {role: math.ceil(runner.one.length[role] / runner.size[role]) for role in ROLES}
    tiles = count["i"] * count["j"]
    gone = _gone(runner, count)
    skipped = int(gone.sum())
    work = work_of(graph, device.platform)
    inside = peak(graph, device.platform)
    once = seconds(graph, device.holding(inside)) + device.step_s
    rows = count[runner.one.outer] * device.step_s
    done = work.times(tiles - skipped)
    whole = Work(
        done.flops,
        done.transcendentals,
        _distant_bytes(runner, graph, count, work),
        inside,
        done.dot_flops,
        done.kernels,
        done.calls,
    )
    less = sum(seconds_of_work(each, device) for each in unmet_work(runner, gone))
    return PassPrice(once * (tiles - skipped) + rows - less, whole, tiles, skipped)


def _distant_bytes(runner: Runner, graph: Graph, count: dict[Role, int], work: Work) -> float:
    """Of what moves from and to main memory: all, or leaves alone if the rest stays in a cache."""
    tiles = count["i"] * count["j"]
    if work.nbytes > this_device().cache_bytes:
        return work.nbytes * tiles
    return float(sum(value.nbytes for value in runner.one.recipe.values) * count[runner.one.outer])


def tile_graph(runner: Runner) -> Graph:
    """What is done at one place, as a graph."""
    one, sizes = runner.one, runner.size
    values = [_jax.ShapedArray(v.shape, v.dtype) for v in one.recipe.values]
    now = [
        _jax.ShapedArray(
            tile_shape(a.spec, sizes) if one.is_row(a.spec) else full_shape(a.spec), a.dtype
        )
        for a in one.accumulators
    ]
    at = _jax.ShapedArray((), np.dtype(np.int32))

    def program(*arrays: Any) -> list[Any]:
        given, state = arrays[: len(values)], arrays[len(values) : -2]
        return list(runner.one_tile(given, state, *arrays[-2:]))

    return read(_jax.trace(program, [*values, *now, at, at]))


def skipped_tiles(runner: Runner, count: dict[Role, int]) -> int:
    """How many tiles are proven to change nothing by positions alone."""
    return int(_gone(runner, count).sum())


def _gone(runner: Runner, count: dict[Role, int]) -> Any:
    """Which, of (outer tiles, inner tiles)."""
    one = runner.one
    gone = np.full((count[one.outer], count[one.inner]), runner.is_skipping)
    if not runner.is_skipping:
        return gone
    blocks = Blocks(dict.fromkeys(ROLES, 0), count, runner.size)
    leaves = {key: usual_interval(key) for key in one.recipe.leaves}
    known = intervals(one.recipe, blocks, one.outer, leaves)

    def interval(wanted: Wanted) -> Interval:
        return _of_literal(wanted) if isinstance(wanted, Literal) else known[wanted]

    for each in one.accumulators:
        gone = gone & (each.need(interval) < -USUAL)
    return gone


def _of_literal(literal: Literal) -> Interval:
    return exactly(literal.value)


def usual_interval(key: Key) -> Interval:
    value: Value = key[0]
    if not is_real(value.dtype):
        return UNKNOWN
    low, high = (0.0, 1.0) if value.dtype == np.bool_ else (1 / USUAL, USUAL)
    return Interval(np.asarray(low), np.asarray(high), np.bool_(True))
