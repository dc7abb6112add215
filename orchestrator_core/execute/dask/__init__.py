"""Execution on Dask: a scheduler plugin that follows plans, and the helpers around it.

`OrchestratorPlugin` is put on a scheduler by `optimize`, by ``Client.register_plugin``, or by
``dask scheduler --preload orchestrator_core.execute.dask.preload``.
"""

from __future__ import annotations

from orchestrator_core.execute.dask.optimize import optimize
from orchestrator_core.execute.dask.plugin import OrchestratorPlugin

__all__ = ["OrchestratorPlugin", "optimize"]
