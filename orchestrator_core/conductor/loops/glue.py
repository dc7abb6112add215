"""Small things that happen to a stack of slices between two scans, done slice by slice.

    ys -> convert, transpose, reshape, ... -> xs     becomes     xs = ys, and the same in each step

The registry has for each primitive its parameters for one slice, or None if it mixes slices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from orchestrator_core.conductor.cost.rules.elementwise import SIMPLE, TRANSCENDENTAL
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.value import Value

Params: TypeAlias = Mapping[str, Any]
PerSlice: TypeAlias = Callable[[Params, int], Params | None]
"""Of the parameters for the stack, and the number of slices."""


def of_slice(node: Node, slice_: Value) -> Node | None:
    """The node for one slice of its only input beside numbers; None if there is no such node."""
    (stack, *others) = [each for each in node.inputs if isinstance(each, Value)]
    rule = RULES.get(node.name)
    if rule is None or others or any(each.shape for each in node.inputs if each is not stack):
        return None
    params = rule(node.params, stack.shape[0])
    if params is None:
        return None
    aval = node.output.aval
    made = Value(aval.update(shape=aval.shape[1:], sharding=None))
    inputs = [slice_ if each is stack else each for each in node.inputs]
    return of_primitive(
        node.primitive, inputs, [made], params, source=node.source, context=node.context
    )


def _same(params: Params, length: int) -> Params:
    return params


def _transpose(params: Params, length: int) -> Params | None:
    first, *rest = params["permutation"]
    return {**params, "permutation": tuple(k - 1 for k in rest)} if first == 0 else None


def _reshape(params: Params, length: int) -> Params | None:
    sizes = params["new_sizes"]
    if params["dimensions"] is not None or not sizes or sizes[0] != length:
        return None
    return {**params, "new_sizes": tuple(sizes[1:])}


def _slice(params: Params, length: int) -> Params | None:
    start, limit, strides = (params[k] for k in ("start_indices", "limit_indices", "strides"))
    if start[0] != 0 or limit[0] != length or (strides is not None and strides[0] != 1):
        return None
    return {
        "start_indices": tuple(start[1:]),
        "limit_indices": tuple(limit[1:]),
        "strides": None if strides is None else tuple(strides[1:]),
    }


def _squeeze(params: Params, length: int) -> Params | None:
    axes = params["dimensions"]
    return None if 0 in axes else {**params, "dimensions": tuple(k - 1 for k in axes)}


def _rev(params: Params, length: int) -> Params | None:
    return _squeeze(params, length)


def _broadcast(params: Params, length: int) -> Params | None:
    axes, shape = params["broadcast_dimensions"], params["shape"]
    if not axes or axes[0] != 0 or shape[0] != length:
        return None
    return {
        **params,
        "shape": tuple(shape[1:]),
        "broadcast_dimensions": tuple(k - 1 for k in axes[1:]),
    }


RULES: Mapping[str, PerSlice] = {
    **dict.fromkeys((*SIMPLE, *TRANSCENDENTAL, "integer_pow", "copy", "copy_p"), _same),
    **dict.fromkeys(("convert_element_type", "stop_gradient"), _same),
    "transpose": _transpose,
    "reshape": _reshape,
    "slice": _slice,
    "squeeze": _squeeze,
    "rev": _rev,
    "broadcast_in_dim": _broadcast,
}
