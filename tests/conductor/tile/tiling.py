"""Functions in tiles, for tests: small ones, with every right region taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.site import Site
from orchestrator_core.conductor.tile.rewrite import tiled
from orchestrator_core.conductor.tile.settings import TileSettings
from tests.conductor.hurry import IN_A_HURRY

SMALL = TileSettings(min_elements=2**10, min_axis=40, tile=32, always=True)


def flat(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    return lambda *arrays: jax.tree.leaves(function(*arrays))


def in_tiles(
    function: Callable[..., Any],
    arrays: Any,
    settings: TileSettings = SMALL,
    precision: str = "real",
) -> tuple[Graph, list[Site]]:
    """The graph of a function of these arrays, and its sites."""
    goal = Goal(always=settings.always, precision=precision)
    return tiled(read(jax.make_jaxpr(flat(function))(*arrays)), goal, settings)


def compiled(graph: Graph, arrays: Any) -> Any:
    return jax.jit(lambda *given: evaluate(graph, given)).lower(*arrays).compile(IN_A_HURRY)


def passes(graph: Graph) -> list[Any]:
    return [node for node in graph.nodes if node.name == "tiled_pass"]


def assert_same(expected: Any, made: Any, tolerance: float) -> None:
    """Equal but for a part of the largest number, and with the same NaNs and infinities."""
    for a, b in zip(expected, made, strict=True):
        a, b = np.asarray(a, "float64"), np.asarray(b, "float64")
        finite = np.isfinite(a)
        np.testing.assert_array_equal(a[~finite], b[~finite])
        scale = np.abs(a[finite]).max(initial=1e-30)
        assert np.abs(a[finite] - b[finite]).max(initial=0) <= tolerance * scale


def check(
    function: Callable[..., Any],
    arrays: Any,
    settings: TileSettings = SMALL,
    precision: str = "real",
    tolerance: float = 5e-6,
) -> Graph:
    """The graph of the tiled function, which has the values of the original."""
    graph, sites = in_tiles(function, arrays, settings, precision)
    assert any(site.is_changed for site in sites), sites
    assert_same(jax.jit(flat(function))(*arrays), compiled(graph, arrays)(*arrays), tolerance)
    return graph
