"""Attention, and its gradient, proven by dataflow and not by how it is spelled."""

from __future__ import annotations

from orchestrator_core.conductor.kernels.attention.attention import (
    Attention,
    Made,
    attentions_of,
)
from orchestrator_core.conductor.kernels.attention.mask import Mask
from orchestrator_core.conductor.kernels.attention.softmax import KEYS, Softmax

__all__ = ["KEYS", "Attention", "Made", "Mask", "Softmax", "attentions_of"]
