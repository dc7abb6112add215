"""What is left out of tiles that a skew's piece does not reach into."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from orchestrator_core.conductor.cost import Work
from orchestrator_core.conductor.facts.axes import Spec, tile_shape
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.skews.of_pass import skews_of
from orchestrator_core.conductor.tile.skews.products import SKEWED, window_of


def unmet_work(runner: Runner, gone: Any) -> Iterator[Work]:
    """Of each product, in all tiles but those that are gone, of (outer tiles, inner tiles)."""
    one = runner.one
    outer, inner = np.indices(gone.shape)
    offset = {
        one.outer: outer * runner.size[one.outer],
        one.inner: inner * runner.size[one.inner],
    }
    place = Tile(offset, runner.size)
    for node, spec in skews_of(one):
        window = window_of(node, spec, place)
        unmet = int((~window.is_met() & ~gone).sum())
        if not node.params["skew"].is_total and unmet:
            flops = _flops(node, spec, runner) * unmet
            yield Work(flops=flops, dot_flops=flops)


def _flops(node: Node, spec: Spec, runner: Runner) -> float:
    """In one tile: of each row with each diagonal, and of all that both operands have beside."""
    shape, sides = list(tile_shape(spec, runner.size)), Sides.of(node)
    rows, columns = node.params["rows"], node.params["columns"]
    shape[columns] += shape[rows] - 1
    if node.name == SKEWED:
        beside = math.prod(node.inputs[0].shape[k] for k in sides.contracted[0])
    else:
        other = 1 - node.params["side"]
        beside = math.prod(node.inputs[other].shape[k] for k in sides.free[other])
    return 2.0 * math.prod(shape) * beside
