"""What kernels gain on the GPU that is there, with what they finish themselves."""

from __future__ import annotations

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.kernels import ended, pallas
from orchestrator_core.conductor.kernels.program import PassProgram
from orchestrator_core.conductor.kernels.settings import are_interpreted
from orchestrator_core.conductor.measured.timing import has_gpu
from orchestrator_core.conductor.measured.trial import trial as measured_trial
from orchestrator_core.conductor.tile.settings import TileSettings


def trial(before: Graph, after: Graph) -> tuple[float, float] | None:
    """See `measured.trial.trial`."""
    if are_interpreted() or not has_gpu():
        return None
    least = _least(after) - _least(before)
    after, _ = ended.in_kernels(after, Goal(), TileSettings())  # as it will be in the end
    with pallas.without_warnings():
        return measured_trial(before, after, least)


def _least(graph: Graph) -> float:
    """Seconds that kernels take, as far as they were timed."""
    programs = (node.params.get("program") for node in graph.nodes)
    return sum(each.least for each in programs if isinstance(each, PassProgram))
