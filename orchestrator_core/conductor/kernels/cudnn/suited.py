"""What cuDNN takes."""

from __future__ import annotations

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.kernels.attention import KEYS, Attention
from orchestrator_core.conductor.kernels.attention.reading import VIEWS, parts_of

TYPES = ("bfloat16", "float16")

WIDEST = 128
"""Head dimension that cuDNN takes on all GPUs of compute capability 8.0 and up; it must be a
multiple of 8."""


def unsuited(graph: Graph, found: Attention) -> str:
    """Why cuDNN does not take it; empty if it may."""
    softmax = found.softmax
    keys = (softmax.q, softmax.k, found.v)
    types = {str(key[0].dtype) for key in keys}
    if len(types) > 1 or not types <= {*TYPES}:
        return f"cuDNN takes {' and '.join(TYPES)}, this is {' and '.join(sorted(types))}"
    if any(not _is_narrow(graph, each.node.output) for each in found.made):
        return f"what it returns is read with more digits than {' and '.join(sorted(types))} has"
    q, k, v = ({role: size for size, role in parts_of(key[1])} for key in keys)
    if q[None] % 8 or q[None] > WIDEST or v[None] != q[None]:
        return f"cuDNN takes head dimensions up to {WIDEST} that are multiples of 8"
    if softmax.mask is not None and q[softmax.query] != k[KEYS]:
        return "a causal mask of unequal lengths"
    if len(softmax.heads) > 2:
        return "more than one axis beside batch and heads"
    return ""


def _is_narrow(graph: Graph, value: Value) -> bool:
    """Is it, or is all that is read of it, of 16 bits?"""
    if str(value.dtype) in TYPES:
        return True
    readers = graph.consumers[value]
    return (
        value not in graph.outputs
        and bool(readers)
        and all(
            node.name in (*VIEWS, "convert_element_type") and _is_narrow(graph, node.output)
            for node in readers
        )
    )
