"""What a pass costs: the price of its tile program, which is traced, times the tiles that are done.

Tiles that a mask made from positions alone leaves out are not counted.
"""

from __future__ import annotations

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
from orchestrator_core.conductor.facts.axes import Role, full_shape, tile_shape
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.tile.foretold import counted, gone
from orchestrator_core.conductor.tile.leaf import held_bytes
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.skews.unmet import unmet_work


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
    count = counted(runner.one, runner.size)
    tiles = count["i"] * count["j"]
    left_out = _gone(runner, count)
    skipped = int(left_out.sum())
    work = work_of(graph, device.platform)
    inside = peak(graph, device.platform)
    once = seconds(graph, device.holding(inside)) + device.step_s
    rows = count[runner.one.outer] * device.step_s
    done = work.times(tiles - skipped)
    whole = Work(
        done.flops,
        done.transcendentals,
        _distant_bytes(runner, graph, count, work),
        max(inside, _held_by_proofs(runner)),
        done.dot_flops,
        done.kernels,
        done.calls,
    )
    less = sum(seconds_of_work(each, device) for each in unmet_work(runner, left_out))
    return PassPrice(once * (tiles - skipped) + rows - less, whole, tiles, skipped)


def _held_by_proofs(runner: Runner) -> int:
    """Bytes, before the loops."""
    if not runner.is_skipping:
        return 0
    leaves = runner.one.recipe.leaves
    return max((held_bytes(value, spec, runner.size) for value, spec in leaves), default=0)


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


def _gone(runner: Runner, count: dict[Role, int]) -> Any:
    """Which tiles are proven to change nothing by positions alone, of (outer, inner)."""
    if runner.is_skipping:
        return gone(runner.one, runner.size, count)
    return np.full((count[runner.one.outer], count[runner.one.inner]), False)
