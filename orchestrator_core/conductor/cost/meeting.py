"""Sums over first axes, whose many results a CPU's cores make together and get in each other's way.

YNNPACK, to which XLA hands them, shares the results out in blocks of 16,384 numbers: of 64 x 16,384
numbers the sums take 0.13 ms, of 64 x 20,000 2.9 ms. Of 64 x 65,536 one core makes them ten times
as fast as two. Measured in JAX 0.10.2 on two cores (EPYC, 2026; docs/decisions/0029).
"""

from __future__ import annotations

from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.cost.fusion_facts import FEW, REDUCTIONS
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom

BLOCK = 2**14
"""Results that a core makes without meeting another one."""

SUM_S, EXTREME_S = 1.1e-9, 0.37e-9
"""Seconds for each byte of a sum in which cores meet, and of a maximum or minimum."""


def meeting_s(node: Node, device: Device) -> float:
    """Seconds of a reduction in which cores meet; 0.0 of what is none."""
    if node.name not in REDUCTIONS or device.platform != "cpu" or not device.spread_s:
        return 0.0
    array, results = node.inputs[0], max(1, node.output.size)
    if results <= BLOCK or array.size < FEW or not _is_of_first_axes(node):
        return 0.0
    once = SUM_S if node.name == "reduce_sum" else EXTREME_S
    return once * array.nbytes * (0.5 if results <= 2 * BLOCK else 1.0)


def as_product_s(node: Node, device: Device, *, is_stored: bool) -> float:
    """Seconds of the same sum as a product of ones and what is summed, which has to be in memory;
    `is_stored`: it is there in any case."""
    nbytes = node.inputs[0].nbytes
    reading = nbytes / device.bandwidth
    storing = 0.0 if is_stored else reading + device.fresh_s(nbytes)
    return reading + storing + device.start_s(node.output.size)


def may_be_product(node: Node) -> bool:
    """Is it a sum of which a product adds up the same numbers in the same type?"""
    return node.name == "reduce_sum" and str(node.output.dtype) in ("float32", "float64")


def long_axes(atom: Atom) -> list[int]:
    """The axes of more than one element."""
    return [axis for axis, size in enumerate(atom.shape) if size > 1]


def _is_of_first_axes(node: Node) -> bool:
    """Are only the first axes summed, whatever has the length one?"""
    summed = [axis in node.params["axes"] for axis in long_axes(node.inputs[0])]
    return summed[:1] == [True] and summed == sorted(summed, reverse=True) and not summed[-1]
