"""A part of a loop's body done for all steps at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.recurrence.complex_products import in_real_numbers


def at_once(
    part: Graph, arrays: Sequence[Any], varying: Sequence[bool], out: Sequence[bool]
) -> list[Any]:
    """What the part makes of each step's slices, stacked along axis 0.

    Args:
        varying: which arrays have a slice for each step. out: which results differ by step; what
            does not is returned once.
    """
    part = in_real_numbers(part)
    if not any(varying):
        return evaluate(part, arrays)
    axes = [0 if each else None for each in varying]
    vmap: Any = jax.vmap
    ends = [0 if each else None for each in out]
    batched = vmap(lambda *slices: evaluate(part, slices), axes, ends)
    return list(batched(*arrays))
