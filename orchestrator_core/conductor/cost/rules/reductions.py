"""Sums and the like along axes, running ones, windows, and sorting."""

from __future__ import annotations

import math

import numpy as np

from orchestrator_core.conductor._jax import is_inexact
from orchestrator_core.conductor.cost.rules.registry import made, moved, rule, words
from orchestrator_core.conductor.cost.work import Work
from orchestrator_core.conductor.ir.node import Node


@rule(
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_xor",
)
def reduction(node: Node) -> Work:
    return Work(flops=_combined(node), nbytes=moved(node))


def _combined(node: Node) -> int:
    """How often two elements become one; of no elements none."""
    return max(0, node.inputs[0].size - node.outputs[0].size)


ARGUMENT_CALLS = {2: 7.0, 4: 4.6, 8: 4.6}
"""Calls of ``exp`` that take as long as one comparison of a pair of value and index, which XLA for
CPUs makes of no vectors where values may be NaN; by the bytes of a number. Measured in JAX 0.10.2
on two cores (2026), seven shapes along either axis: 2.0 to 3.0 ns, in 16 bits 3.5."""


@rule("argmax", "argmin")
def argument(node: Node) -> Work:
    """Comparing a pair of value and index takes eight operations."""
    pairs, dtype = _combined(node), node.inputs[0].dtype
    is_whole = not is_inexact(dtype)
    calls = 0.0 if is_whole else pairs * ARGUMENT_CALLS.get(dtype.itemsize, ARGUMENT_CALLS[2])
    return Work(flops=8 * pairs, nbytes=moved(node), calls=calls)


COMBINED = {
    "cumsum": (0.3, 2.1),
    "cumprod": (0.3, 2.1),
    "cummax": (0.8, 2.6),
    "cummin": (0.8, 2.6),
    "cumlogsumexp": (43.0, 67.0),
}
"""Calls of ``exp`` that take as long as one of the combinations within windows that XLA makes
running operations of; and where numbers have 16 bits. Measured in JAX 0.10.2 and 0.12.0 on a CPU
(EPYC, 2026): 0.15, 0.35 and 18 ns."""

WINDOW = 16
"""Elements. Each element is made anew from all before it in its window; what windows come to is
done likewise."""

LEVEL = 2.5
"""Calls for each element of putting both together, once for each further level: 1 ns. Along another
axis than the last twice as many."""

FROM_END = 0.6
"""The part of it that is left from the end of the last axis, but for `cumlogsumexp`."""


@rule(*COMBINED)
def running(node: Node) -> Work:
    """By windows, on a CPU."""
    size, dtype, axis = made(node), node.output.dtype, node.params["axis"]
    length, is_last = node.output.shape[axis], axis == len(node.output.shape) - 1
    is_narrow = dtype.itemsize == 2 and not np.issubdtype(dtype, np.integer)
    is_exponential = node.name == "cumlogsumexp"
    levels, pairs = _levels(length)
    calls = size * COMBINED[node.name][is_narrow] * min(length, WINDOW)
    calls += size * LEVEL * (levels - 1) * (1 if is_last else 2)
    if node.params["reverse"] and is_last and not is_exponential:
        calls *= FROM_END
    pairs *= size / max(length, 1)
    between, kept = _in_windows(length, node.output.nbytes) if levels > 1 else (0.0, 0)
    return Work(
        flops=pairs * (8 if is_exponential else 1),
        transcendentals=pairs * (2 if is_exponential else 0),
        nbytes=moved(node) + between,
        temp_bytes=kept,
        calls=calls,
    )


def _in_windows(length: int, nbytes: int) -> tuple[float, int]:
    """Bytes that are moved between windows and what they come to, and that are kept for it. Rows
    that are no whole number of windows are filled up in a copy."""
    filled = nbytes * (-(-length // WINDOW) * WINDOW) // length
    if length % WINDOW:
        return filled * (4 + 4 / WINDOW), 2 * filled
    return filled * (2 + 4 / WINDOW), filled * (WINDOW + 1) // WINDOW


def _levels(length: int) -> tuple[int, int]:
    """Of windows of windows, how many, and how often two numbers are combined."""
    levels, pairs = 1, 0
    while length > WINDOW:
        length, levels = -(-length // WINDOW), levels + 1
        pairs += length * WINDOW**2  # one for each with what the window before comes to
    return levels, pairs + length * max(length - 1, 0)


APART, OVERLAPPING = 0.3, 0.8
"""Calls of ``exp`` that take as long as one element of a window, of which no vectors are made.
Measured, EPYC, 2026, two cores, five windows: 0.1 to 0.3 ns, and 0.25 to 0.65 where an element is
in several windows, or these reach beyond the array."""


@rule(
    "reduce_window",
    "reduce_window_max",
    "reduce_window_min",
    "reduce_window_sum",
)
def window(node: Node) -> Work:
    params = node.params
    size = math.prod(params["window_dimensions"])
    is_apart = params["window_dimensions"] == params["window_strides"]
    there = size / math.prod(params.get("base_dilation", ()))
    calls = (APART if is_apart else OVERLAPPING) * there * made(node)
    return Work(flops=made(node) * max(1, size - 1), nbytes=moved(node), calls=calls)


FOUND_CALLS, MOVED_CALLS = 7.0, 30.0
"""The same of each element of a window of which the best is looked for, and of moving what belongs
to it. Measured likewise: 3.5 and 15 ns."""


@rule("select_and_scatter_add", "select_and_scatter", "select_and_gather_add")
def window_choice(node: Node) -> Work:
    """Finding each window's best, and moving what belongs to it. XLA carries 32-bit indices for
    each axis through that, of all elements and of all windows; where windows reach beyond the
    array, of a filled up copy, and what is moved comes from another such."""
    windows, operand, padding = node.inputs[0], node.inputs[1], node.params["padding"]
    size, rank = math.prod(node.params["window_dimensions"]), len(operand.shape)
    filled = math.prod(n + sum(more) for n, more in zip(operand.shape, padding, strict=True))
    copy = filled * operand.nbytes // max(1, operand.size) if filled > operand.size else 0
    # The filled up copies leave room for that of the windows in what is returned.
    kept = windows.nbytes * (1 if copy else 2)
    return Work(
        flops=windows.size * ((rank + 7) * max(0, size - 1) + 1),
        nbytes=moved(node) + 4 * rank * (2 * filled + 6 * windows.size) + 6 * copy,
        temp_bytes=4 * rank * (filled + windows.size) + 2 * copy + kept,
        calls=windows.size * (FOUND_CALLS * size + MOVED_CALLS),
    )


COMPARISON = 36.0
"""Calls of ``exp`` that take as long as one comparison of XLA's sorts on a CPU. Measured, EPYC,
2026: 17 to 20 ns, of rows of 256 to 4096 numbers or pairs."""

KEPT = 400.0
"""The same for each number that its `top_k` of floats keeps: 120 to 250 ns, up to 32 of them."""

SEEN = 3.0
"""The same for each that it looks at: 1.4 ns."""

BY_SORTING = "top_k_by_sorting"
"""What becomes of a `top_k` of which only a slice is read; see `simplifying`."""


@rule("approx_top_k", "sort", BY_SORTING)
def sort(node: Node) -> Work:
    """By comparisons: n log n for each row."""
    given = node.inputs[0]
    length = given.shape[node.params.get("dimension", node.params.get("axis", -1))]
    rounds = max(1.0, math.log2(max(2, length)))
    kept = 2 * given.nbytes if node.name == BY_SORTING else 0
    return Work(
        flops=given.size * rounds,
        calls=COMPARISON * given.size * rounds,
        nbytes=2 * moved(node) + kept,
        temp_bytes=kept,
    )


@rule("top_k")
def top_k(node: Node) -> Work:
    """A heap for each row of floats of 32 bits; all others are sorted."""
    if node.inputs[0].dtype != np.float32:
        return sort(node)
    size, kept = node.inputs[0].size, node.outputs[0].size
    return Work(flops=2 * size, calls=SEEN * size + KEPT * kept, nbytes=moved(node))


SCATTERS = words("scatter scatter-add scatter-max scatter-min scatter-mul scatter-sub")


@rule(*SCATTERS)
def scatter(node: Node) -> Work:
    """Updates in place; see `views.updating`."""
    indices, updates = node.inputs[1], node.inputs[2]
    flops = 0 if node.name == "scatter" else updates.size
    return Work(flops=flops, nbytes=3 * updates.nbytes + indices.nbytes)
