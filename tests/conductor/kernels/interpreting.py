"""Functions in kernels, for tests: small ones, interpreted by Pallas, or lowered for a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from orchestrator_core.conductor.cost import on_device
from orchestrator_core.conductor.cost.known_devices import PUBLISHED
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.kernels import pallas
from orchestrator_core.conductor.kernels.lowering import on_abstract_gpu
from orchestrator_core.conductor.kernels.rewrite import with_kernels
from orchestrator_core.conductor.kernels.settings import interpreted
from orchestrator_core.conductor.site import Site
from orchestrator_core.conductor.tile.settings import TileSettings
from tests.conductor.hurry import IN_A_HURRY

SMALL = TileSettings(min_elements=2**10, min_axis=40, tile=48, always=True)

H200 = PUBLISHED[0]

TRITON = "__gpu$xla.gpu.triton"
"""What calls a kernel in a lowered program."""

KERNELS = ("kernel_pass", "kernel_loop")


def flat(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    return lambda *arrays: jax.tree.leaves(function(*arrays))


def graph_of(function: Callable[..., Any], arrays: Sequence[Any]) -> Graph:
    return read(jax.make_jaxpr(flat(function))(*arrays))


def in_interpreted_kernels(graph: Graph) -> tuple[Graph, list[Site]]:
    with interpreted():
        return with_kernels(graph, Goal(always=True), SMALL)


def for_gpu(graph: Graph) -> tuple[Graph, list[Site]]:
    with on_device(H200):
        return with_kernels(graph, Goal(always=True), SMALL)


def kernels_of(graph: Graph) -> list[Any]:
    return [node for node in graph.nodes if node.name in KERNELS]


def launched(graph: Graph) -> int:
    """How often kernels of passes are called in a graph, and where rows are in doubt once more."""
    programs = [node.params["program"] for node in kernels_of(graph)]
    again = [each for program in programs for each in program.kernels if each.ending is not None]
    checked: int = sum(each.ending.is_checked for each in again)
    return sum(len(program.kernels) for program in programs) + checked


def run(graph: Graph, arrays: Sequence[Any]) -> list[Any]:
    lowered = jax.jit(lambda *given: evaluate(graph, given)).lower(*arrays)
    return list(lowered.compile(IN_A_HURRY)(*arrays))


def lowered_for_gpu(graph: Graph, arrays: Sequence[Any]) -> str:
    """The text of a program for a GPU that need not be there."""
    function = jax.jit(lambda *given: evaluate(graph, given))
    with pallas.without_warnings(), on_abstract_gpu():
        return str(function.trace(*arrays).lower(lowering_platforms=("cuda",)).as_text())


def assert_near(found: Sequence[Any], exact: Sequence[Any], tolerance: float) -> None:
    """Equal to float64 values but for a part of the largest number."""
    for a, b in zip(found, exact, strict=True):
        a, b = np.asarray(a, "float64"), np.asarray(b, "float64")
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        scale = np.abs(b[np.isfinite(b)]).max(initial=1e-30)
        error = np.abs(a - b)[np.isfinite(b)].max(initial=0)
        assert error <= tolerance * scale, error / scale
