"""Kernels that were written by hand: what their authors have said of them, or what is in them."""

from __future__ import annotations

import math
from typing import Any

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.cost.rules.registry import moved, rule
from orchestrator_core.conductor.cost.work import Work
from orchestrator_core.conductor.ir.node import Node


@rule("pallas_call")
def pallas_call(node: Node) -> Work:
    """It moves what it takes and returns once."""
    said = node.params.get("cost_estimate")
    if said is not None:
        calls = said.transcendentals
        return Work(said.flops, calls, said.bytes_accessed, calls=calls)
    grid = node.params["grid_mapping"].grid
    points = math.prod(size for size in grid if isinstance(size, int))
    return Work(flops=points * _elements(node.params["jaxpr"]), nbytes=moved(node))


def _elements(jaxpr: Any) -> int:
    """One operation for each element that is made, matrix products in full."""
    body, _ = _jax.inner(jaxpr)
    total = 0
    for equation in body.eqns:
        size = max((math.prod(getattr(v.aval, "shape", ())) for v in equation.outvars), default=0)
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            size *= 2 * math.prod(shape[axis] for axis in contracted)
        total += size
    return total
