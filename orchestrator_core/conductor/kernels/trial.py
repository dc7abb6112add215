"""What kernels gain on the GPU that is there, with what they finish themselves."""

from __future__ import annotations

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.kernels import ended, pallas
from orchestrator_core.conductor.kernels.settings import are_interpreted
from orchestrator_core.conductor.measured.timing import has_gpu
from orchestrator_core.conductor.measured.trial import trial as measured_trial
from orchestrator_core.conductor.tile.settings import TileSettings


def trial(before: Graph, after: Graph) -> tuple[float, float] | None:
    """See `measured.trial.trial`."""
    if are_interpreted() or not has_gpu():
        return None
    after, _ = ended.in_kernels(after, Goal(), TileSettings())  # as it will be in the end
    with pallas.without_warnings():
        return measured_trial(before, after)
