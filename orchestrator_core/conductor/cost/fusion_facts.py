"""What XLA computes in one kernel. Each fact names the versions of JAX in whose programs it was
seen; `fusion` reads them.

Kinds of nodes:
    free: another name of the same bytes: never a kernel, never a value of its own.
    loop: each element on its own, from few elements of what it reads: may be computed inside
        whoever reads it.
    reduction: may compute inside itself what it reads.
    all others: a kernel, or several, of its own.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.cost.rules.elementwise import COMPOSED, SIMPLE, TRANSCENDENTAL
from orchestrator_core.conductor.cost.rules.reductions import COMBINED, SCATTERS
from orchestrator_core.conductor.cost.rules.registry import words
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal

FREE = words(
    "expand_dims name random_unwrap random_wrap reshape sharding_constraint squeeze stop_gradient"
    " tiled_store"
)


def is_free(node: Node) -> bool:
    """Is what it makes what it reads, under another name?"""
    if node.name in FREE:
        return True
    if node.name == "max":
        return any(is_least(each) for each in node.inputs)
    if len(node.inputs) != 1 or len(node.outputs) != 1:
        return False
    if node.inputs[0].dtype != node.outputs[0].dtype:
        return False
    if node.name in REDUCTIONS or node.name in ("broadcast_in_dim", "slice", "transpose"):
        return node.inputs[0].size == node.output.size and _keeps_order(node)
    return False


def name_of(node: Node) -> Atom:
    """What a free node makes another name of. Of two numbers that are the least, either is it."""
    return next((each for each in node.inputs if not is_least(each)), node.inputs[0])


def is_least(atom: Atom) -> bool:
    """Is it minus infinity, written in the program?"""
    return isinstance(atom, Literal) and np.ndim(atom.value) == 0 and bool(atom.value == -np.inf)


def _keeps_order(node: Node) -> bool:
    """Axes of length one may stand anywhere."""
    if node.name != "transpose":
        return not node.name.startswith("arg")
    shape = node.inputs[0].shape
    moved = [axis for axis in node.params["permutation"] if shape[axis] > 1]
    return moved == sorted(moved)


VIEWS = words(
    "broadcast_in_dim concatenate copy copy_p dynamic_slice gather iota pad rev slice transpose"
)
"""Loops that move elements."""

LOOPS = SIMPLE | TRANSCENDENTAL | {*COMPOSED, "integer_pow", "one_minus_square"} | VIEWS

REDUCTIONS = words(
    "reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor argmax argmin"
)

EXPENSIVE = TRANSCENDENTAL | {*COMPOSED, "div", "rem"}
"""Not computed twice: kept if two kernels need them, or one needs each of them many times."""

CHEAP_TO_XLA = frozenset({"cos", "nextafter", "sin", "tan"})
"""Computed as often as they are needed, if numbers are real, however long that takes: a table of
angles is made anew for each head and each row of a batch. Seen on a CPU in 0.10.2."""


def is_expensive(node: Node) -> bool:
    """Is a node not computed twice?"""
    if node.name in CHEAP_TO_XLA:
        return bool(jnp.issubdtype(node.output.dtype, jnp.complexfloating))
    is_inverse = node.name == "integer_pow" and node.params["y"] < 0
    return node.name in EXPENSIVE or is_inverse


JOINED = frozenset({"concatenate", "pad"})
"""Loops whose code asks for each element where it comes from."""


def is_made_once(node: Node, platform: str) -> bool:
    """Is a node's code made only once, in one kernel or in none? Seen on a CPU in 0.10.2."""
    return platform == "cpu" and node.name in JOINED


MOST_COPIES = 15


def most_copies(node: Node, platform: str) -> float:
    """Of a node's code in one kernel: one that would need more is kept."""
    if node.name == "broadcast_in_dim":
        return math.inf
    return 1 if is_made_once(node, platform) else MOST_COPIES


SPREADING = frozenset({"broadcast_in_dim", "iota"})
"""Views that do not say where an element of the others is."""

REUSING = frozenset({"broadcast_in_dim", "gather"})
"""They may read an element many times."""

LOOPS_OF_LIBRARY = words(
    "abs add add_any broadcast_in_dim ceil convert_element_type div erf exp expm1 floor "
    "integer_pow iota log log1p logistic max min mul neg one_minus_square pad pow "
    "round rsqrt sign sqrt square sub tanh"
)

CUTTING = frozenset({"slice", "dynamic_slice", "gather"})
"""Of their first input they read no more than they return."""

IN_PLACE = SCATTERS | {"dynamic_update_slice"}
"""They write into their first input if nobody needs it any more."""

READ_BEFORE = frozenset({*COMBINED, "sort"})
"""They have read all of an input before they write the output of the same position: sorting is done
in place, and running operations put together what windows have come to."""


BARRIER = "optimization_barrier"

LIBRARY = LOOPS_OF_LIBRARY | words(
    "dot_general conv_general_dilated reduce_sum reduce_max reduce_min reduce_window_max "
    "reduce_window_min reduce_window_sum"
)
"""What YNNPACK knows. Seen on a CPU in 0.10.2, 0.11.2 and 0.12.0.1."""

STARTERS = words("reduce_sum reduce_max reduce_min")

LIBRARY_TYPES = words("float32 float64 bfloat16")

FEW = 4096
"""Elements: a library is not asked for less."""


def holds_barriers(platform: str) -> bool:
    """Does an optimization barrier keep what comes after it waiting? On a CPU it does not in
    0.10.2, and does in 0.11.2 and 0.12.0.1."""
    is_new: bool = jax.__version_info__ >= (0, 11)
    return platform != "cpu" or is_new


def merges_across_barriers(node: Node, platform: str) -> bool:
    """Is a node computed once that stands before and after an optimization barrier? Where barriers
    do not hold, products and the like are; loops never."""
    return not holds_barriers(platform) and node.name not in LOOPS


def starts_library_group(node: Node) -> bool:
    """Does XLA hand this reduction to YNNPACK?"""
    return node.name in STARTERS and is_in_library(node)


def is_in_library(node: Node) -> bool:
    """May it be computed in a group that YNNPACK computes?"""
    if node.name not in LIBRARY or not _has_library_types(node):
        return False
    if node.name == "dot_general":
        return _is_matrix_product(node)
    if node.name == "conv_general_dilated":
        return set(node.params["lhs_dilation"]) == {1} and len(node.output.shape) == 4
    if node.name.startswith("reduce_window"):
        return bool(node.params["window_dimensions"] == node.params["window_strides"])
    if node.name in ("broadcast_in_dim", "iota", "pad"):
        return True
    return max(each.size for each in (*node.inputs, *node.outputs)) >= FEW


def _has_library_types(node: Node) -> bool:
    types = {str(each.dtype) for each in (*node.inputs, *node.outputs)}
    return types <= LIBRARY_TYPES


def _is_matrix_product(node: Node) -> bool:
    """And not one of a matrix and a vector, nor a very small one."""
    (contracted, _), (batch, _) = node.params["dimension_numbers"]
    left, right = (math.prod(each.shape) for each in node.inputs)
    inner = math.prod(node.inputs[0].shape[axis] for axis in contracted)
    many = math.prod(node.inputs[0].shape[axis] for axis in batch)
    rows, columns = left // max(1, inner * many), right // max(1, inner * many)
    return bool(min(rows, columns) > 1 and max(rows, columns, inner) >= 8)


LONG_ROW = 128
"""Elements of rows that are joined, from which on they are copied as a whole on a CPU, and not
element by element. Seen in 0.10.2 (XLA's ``CpuInstructionFusion``)."""


def is_loop(node: Node, platform: str) -> bool:
    """Is it a loop? On a CPU long arrays that are joined along their last axis are none."""
    if node.name != "concatenate" or platform != "cpu":
        return node.name in LOOPS
    shape, last = node.output.shape, len(node.output.shape) - 1
    return last == 0 or node.params["dimension"] != last or bool(shape[last] < LONG_ROW)


WINDOW = 32
"""Elements that XLA sums in one window, of long axes on a CPU."""


def takes_producers(node: Node, platform: str) -> bool:
    """May what this node reads be computed inside it?

    On a CPU not if it sums along other axes than the last: such sums have a loop of their own. Nor
    if an axis is long: such a sum is one of sums of windows, which are not fused. A largest element
    that is asked for by place may always.
    """
    if is_loop(node, platform) or node.name == "dynamic_update_slice":
        return True
    if node.name not in REDUCTIONS:
        return False
    if platform != "cpu" or node.name.startswith("arg"):
        return True
    shape, axes = node.inputs[0].shape, node.params["axes"]
    return len(shape) - 1 in axes and all(shape[axis] <= WINDOW for axis in axes)


def is_fused(node: Node) -> bool:
    """Is it the root of a kernel that XLA makes, and not one of a library or a loop?"""
    return node.name in LOOPS or node.name in REDUCTIONS or node.name == "dynamic_update_slice"


def share_read(node: Node, position: int) -> float:
    """Which part of an input a node reads."""
    if position == 0 and node.name in IN_PLACE:
        return 0.0
    if position == 0 and node.name in CUTTING:
        return min(1.0, node.output.size / max(1, node.inputs[0].size))
    return 1.0
