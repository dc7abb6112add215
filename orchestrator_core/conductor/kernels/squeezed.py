"""A graph inside a kernel: the same operations on arrays without axes of one element.

Triton knows matrices, not batches of one matrix, and only sizes that are powers of two. So axes of
one element are left out, and axes of other sizes are longer than they should be: what is behind
their end may be anything, and is set to what changes nothing where an axis is summed. Numbers of 16
bits are computed and held in 32, as XLA's fusions do, and are rounded where they are multiplied as
matrices. What is rounded to fewer bits than that is rounded at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.facts.number_types import is_precise
from orchestrator_core.conductor.facts.transfer.elementwise import ELEMENTWISE
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.kernels import pallas
from orchestrator_core.conductor.kernels.held import (
    held_type,
    is_narrow,
    squeezed_shape,
    wide,
    without_end,
)
from orchestrator_core.conductor.kernels.name import APPROXIMATE_TANH
from orchestrator_core.conductor.kernels.products import product
from orchestrator_core.conductor.refused import Refused

Rule: TypeAlias = Callable[[Node, list[Any]], Any]
"""Of a node and its squeezed operands: its squeezed result."""

RULES: dict[str, Rule] = {}
"""By the name of the primitive. What has none is refused."""


def run(graph: Graph, inputs: Sequence[Any], rules: Mapping[str, Rule] = RULES) -> list[Any]:
    """What a graph makes of squeezed arrays.

    Args:
        rules: instead of those here.

    Raises:
        Refused: if it does something that no kernel can.
    """
    if graph.constants:
        raise Refused("it reads constant arrays")
    known: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))

    def array(atom: Atom) -> Any:
        return literal(atom) if isinstance(atom, Literal) else known[atom]

    for node in graph.nodes:
        rule = rules.get(node.name)
        if rule is None or len(node.outputs) != 1:
            raise Refused(f"{node.name} is not possible inside a kernel")
        made = rule(node, [array(each) for each in node.inputs])
        known[node.output] = _rounded(made, node.output.dtype)
    whole = [laid(array(each), each.shape, each.shape) for each in graph.outputs]
    return [each.astype(out.dtype) for each, out in zip(whole, graph.outputs, strict=True)]


def _rounded(array: Any, dtype: Any) -> Any:
    """With the digits of a type of few bits, of which a program means to lose the others."""
    is_meant = jnp.issubdtype(dtype, jnp.floating) and not is_precise(dtype)
    return wide(array.astype(dtype)) if is_meant else array


def is_needed(graph: Graph, k: int) -> bool:
    """Is an input read, or returned as it is?"""
    given = graph.inputs[k]
    return bool(graph.consumers[given]) or given in graph.outputs


def literal(atom: Literal) -> Any:
    """A number, as it is held."""
    if np.ndim(atom.value):
        raise Refused("it reads constant arrays")
    return np.asarray(atom.value, held_type(atom.dtype))[()]


def laid(array: Any, shape: Sequence[int], out: Sequence[int]) -> Any:
    """An operand of a shape, which may be that of a scalar, as large as the result."""
    axes = [k for k, size in enumerate(out) if size != 1]
    if shape:
        return placed(array, shape, out, range(len(out)))
    return lax.broadcast_in_dim(array, squeezed_shape(out), ()) if axes else array


def placed(array: Any, shape: Sequence[int], out: Sequence[int], to: Sequence[int]) -> Any:
    """An operand of a shape whose axes are those axes `to` of the result."""
    axes = [k for k, size in enumerate(out) if size != 1]
    dims = tuple(axes.index(to[k]) for k, size in enumerate(shape) if size != 1)
    whole = squeezed_shape(out)
    if np.ndim(array) == len(whole):
        return array
    return lax.broadcast_in_dim(array, whole, dims)


def _elementwise(node: Node, arrays: list[Any]) -> Any:
    shape = node.output.shape
    pairs = zip(arrays, node.inputs, strict=True)
    (made,) = node.apply([laid(wide(array), each.shape, shape) for array, each in pairs])
    return made


def _of_bits(node: Node, arrays: list[Any]) -> Any:
    if any(is_narrow(each.dtype) for each in (*node.inputs, node.output)):
        raise Refused(f"{node.name} of numbers of 16 bits")
    return _elementwise(node, arrays)


def _exponential(node: Node, arrays: list[Any]) -> Any:
    """By the instruction that every GPU has, for powers of two."""
    array = wide(arrays[0])
    if array.dtype != np.float32:
        return _elementwise(node, arrays)
    return jnp.exp2(array * np.float32(math.log2(math.e)))


def _approximate_tanh(node: Node, arrays: list[Any]) -> Any:
    """By the instruction of NVIDIA's GPUs, off by 2^-11."""
    return pallas.approximate_tanh(laid(arrays[0], node.inputs[0].shape, node.output.shape))


def _converted(node: Node, arrays: list[Any]) -> Any:
    """Whole numbers are rounded, as masks are made of them: others keep the digits they have."""
    (array,), dtype = arrays, node.output.dtype
    if not is_narrow(dtype):
        return array.astype(dtype)
    is_whole = jnp.issubdtype(node.inputs[0].dtype, jnp.integer)
    array = array.astype(np.float32)
    return wide(array.astype(dtype)) if is_whole else array


def _broadcast(node: Node, arrays: list[Any]) -> Any:
    to = [int(axis) for axis in node.params["broadcast_dimensions"]]
    shape = node.inputs[0].shape
    if not shape:
        return laid(arrays[0], (), node.output.shape)
    return placed(arrays[0], shape, node.output.shape, to)


def _reshape(node: Node, arrays: list[Any]) -> Any:
    given, made = (_real(each.shape) for each in (node.inputs[0], node.output))
    if given == made:
        return arrays[0]
    if squeezed_shape(given) != given or squeezed_shape(made) != made:
        raise Refused("a reshape of an axis whose size is no power of two")
    return jnp.reshape(arrays[0], made)


def _real(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _transpose(node: Node, arrays: list[Any]) -> Any:
    shape = node.inputs[0].shape
    axes = [k for k, size in enumerate(shape) if size != 1]
    order = [axes.index(k) for k in node.params["permutation"] if shape[k] != 1]
    return arrays[0] if order == sorted(order) else lax.transpose(arrays[0], order)


def _same(node: Node, arrays: list[Any]) -> Any:
    return arrays[0]


def _iota(node: Node, arrays: list[Any]) -> Any:
    shape, axis, dtype = node.output.shape, node.params["dimension"], node.output.dtype
    axes = [k for k, size in enumerate(shape) if size != 1]
    if axis not in axes:
        return wide(jnp.zeros(squeezed_shape(shape), dtype))
    counted = lax.broadcasted_iota(np.int32, squeezed_shape(shape), axes.index(axis))
    return wide(counted.astype(dtype))


REDUCED: Mapping[str, tuple[Callable[..., Any], float]] = {
    "reduce_sum": (jnp.sum, 0.0),
    "reduce_max": (jnp.max, -np.inf),
    "reduce_min": (jnp.min, np.inf),
}
"""By primitive: what does it, and what changes nothing."""


def _reduce(node: Node, arrays: list[Any]) -> Any:
    return _reduced(node, wide(arrays[0]), *REDUCED[node.name])


def _reduced(node: Node, array: Any, function: Callable[..., Any], neutral: float) -> Any:
    shape = node.inputs[0].shape
    axes = [k for k, size in enumerate(shape) if size != 1]
    summed = [axes.index(k) for k in node.params["axes"] if shape[k] != 1]
    for axis in summed:
        array = without_end(array, axis, _real(shape)[axis], neutral)
    # Of narrow whole numbers jnp.sum makes wider ones, whose sums do not wrap around.
    return function(array, axis=tuple(summed)).astype(array.dtype) if summed else array


def _logical(node: Node, arrays: list[Any]) -> Any:
    """By numbers, which Triton can reduce."""
    if node.inputs[0].dtype != np.bool_:
        raise Refused(f"{node.name} of whole numbers")
    name = {"reduce_and": "reduce_min", "reduce_or": "reduce_max"}[node.name]
    numbers = arrays[0].astype(np.float32)
    return _reduced(node, numbers, *REDUCED[name]) > 0


RULES.update(dict.fromkeys(ELEMENTWISE, _elementwise))
RULES.update(dict.fromkeys(("reshape", "squeeze", "expand_dims"), _reshape))
RULES.update(dict.fromkeys(("copy", "copy_p", "name", "stop_gradient"), _same))
RULES.update(dict.fromkeys(REDUCED, _reduce))
RULES.update(dict.fromkeys(("reduce_and", "reduce_or"), _logical))
RULES["exp"] = _exponential
RULES[APPROXIMATE_TANH] = _approximate_tanh
RULES["convert_element_type"] = _converted
RULES.update(dict.fromkeys(("bitcast_convert_type", "nextafter"), _of_bits))
RULES.pop("reduce_precision")
RULES["broadcast_in_dim"] = _broadcast
RULES["transpose"] = _transpose
RULES["iota"] = _iota
RULES["dot_general"] = product

INTERPRETED: Mapping[str, Rule] = {**RULES, APPROXIMATE_TANH: _elementwise}
"""For the interpreter, which has no instructions of GPUs."""
