"""Convolutions in groups on a CPU, which are far from the rate of whole ones.

Of each place and group a patch is copied and is the left operand of a product of its own, thin as
it is: of depthwise convolutions that is nearly all. A derivative by the weights of a depthwise one,
whose groups are of the batch, is made of all pairs of features, of which those on the diagonal are
chosen (XLA's ``ConvolutionGroupConverter``); in other groups of the batch no library makes it.
Seen in JAX 0.10.2.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.cost.standing_in import standing_in
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value

CONVOLUTION = "conv_general_dilated"

PATCH, ELEMENT = 800.0, 34.0
"""Simple operations that would take as long as a patch, and each of its elements. Measured, EPYC,
2026, two cores, seven shapes with 1 to 32 features in a group: 20 and 0.85 ns."""

PAIR = 430.0
"""The same of a pair of numbers that meet where no library makes it: 11 ns."""


def of_all_pairs(node: Node, platform: str) -> list[Node]:
    """The nodes that a CPU runs instead of one; the node itself if it runs that."""
    if platform != "cpu" or not _is_on_diagonal(node):
        return [node]
    groups = node.params["batch_group_count"]
    batch = node.params["dimension_numbers"].out_spec[0]
    shape = list(node.output.shape)
    shape[batch] *= groups
    made, chosen = (Value(_jax.ShapedArray(tuple(shape), node.output.dtype)) for _ in range(2))
    params = {**node.params, "batch_group_count": 1}
    return [
        dataclasses.replace(node, outputs=(made,), params=params),
        standing_in("select_n", node, (made,), chosen),
        standing_in("reduce_sum", node, (chosen,), node.output, axes=(batch,)),
    ]


def _is_on_diagonal(node: Node) -> bool:
    """Is a convolution one of groups of the batch that make a single feature each?"""
    if node.name != CONVOLUTION or node.params["batch_group_count"] == 1:
        return False
    features = node.params["dimension_numbers"].out_spec[1]
    return bool(node.output.shape[features] == node.params["batch_group_count"])


def grouped_s(nodes: Iterable[Node], device: Device) -> float:
    """Seconds of a kernel's convolutions in groups beside their operations."""
    if device.platform != "cpu":
        return 0.0
    dear = sum(_dear(node) for node in nodes if node.name == CONVOLUTION)
    return dear / device.loop_rate / device.part_at_work


def _dear(node: Node) -> float:
    """So many simple operations."""
    groups, of_batch = (int(node.params[f"{what}_group_count"]) for what in ("feature", "batch"))
    if groups == of_batch == 1:
        return 0.0
    numbers: Any = node.params["dimension_numbers"]
    kernel = node.inputs[1].shape
    patch = math.prod(kernel) // max(1, int(kernel[numbers.rhs_spec[0]]))
    if of_batch > 1:
        return PAIR * patch * node.output.size
    places: int = node.output.size // max(1, int(node.output.shape[numbers.out_spec[1]]))
    return (PATCH + ELEMENT * patch) * places * groups
