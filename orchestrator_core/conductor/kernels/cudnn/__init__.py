"""Plain attention and its gradient handed to cuDNN, which nobody needs to write again."""

from __future__ import annotations

from orchestrator_core.conductor.kernels.cudnn.dispatch import in_kernels

__all__ = ["in_kernels"]
