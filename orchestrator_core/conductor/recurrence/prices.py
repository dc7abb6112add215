"""What a step of a loop costs on a device, node by node, for the choice between forms.

The device and what it takes for a piece of work are those of `cost`; what is said here is only how
nodes share kernels within a step, and what they cost once all steps are done at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from orchestrator_core.conductor.cost import Device, work_of_node
from orchestrator_core.conductor.cost.roofline import computing, seconds_of_product
from orchestrator_core.conductor.cost.thin_products import is_multiplication
from orchestrator_core.conductor.facts.transfer.elementwise import ELEMENTWISE
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.recurrence.batchable import FREE

LESS, LESS_S = 0.4, 0.1e-6
"""What a kernel less saves in a CPU's step, as a part of `Device.kernel_s`, and what is taken to be
left of a step: more than what both cost (`Device.within_loop`), since a step that does less is also
made better code of. Choices that were measured follow these (decision 0031)."""

SHARE = 0.02
"""The part of starting a kernel that comes with an operation which is fused into another."""

ONE_CORE = 80e9
"""Flops a second of 32 bits of one core, which is all that works on a small product in a step."""

THIN = 1.0
"""`Device.half_side` of such a product, whose factors are in the cache: one row runs at half of the
rate, four at four fifths. Measured: 44 and 72e9 flops a second, of 87e9 with many rows."""

SLICED = 0.05
"""The part of starting a kernel that comes with each more array which steps read or write."""

IN_PIECES = 3e-9
"""Seconds for each element of an array of all steps, of which a step reads pieces on their own:
XLA's CPU code then is not made of vectors. Measured, EPYC, 2026: 1 us for 384 numbers of an LSTM's
four gates, nothing if there is an array for each gate. The same holds of booleans."""

PIECES = frozenset({"slice", "split", "dynamic_slice", "gather", "rev", "concatenate", "pad"})


def traffic(nbytes: float, of: float, device: Device) -> float:
    """Seconds to move bytes which are part of an array of `of` bytes."""
    return nbytes / device.byte_rate(of)


def crossing(value: Value, body: Graph, length: int, device: Device) -> float:
    """Seconds for each step of an array of all steps: to write a part of it and to read that."""
    moved = 2 * traffic(value.nbytes, value.nbytes * length, device) + SLICED * device.kernel_s
    if device.platform == "cpu" and (value.dtype == bool or _is_read_in_pieces(value, body)):
        moved += IN_PIECES * value.size
    return moved


def _is_read_in_pieces(value: Value, body: Graph) -> bool:
    """By those that read it, or what is fused with them."""
    seen, left = {value}, [value]
    while left:
        for node in body.consumers[left.pop()]:
            if node.name in PIECES:
                return True
            if node.name in ELEMENTWISE or node.name in FREE:
                more = [each for each in node.outputs if each not in seen]
                seen.update(more)
                left += more
    return False


def alone(node: Node, device: Device) -> float:
    """Seconds of a node within a step."""
    if _is_product(node):
        return _kernel_s(device) + _product(node, device)
    return SHARE * _kernel_s(device) + _elements(node, device, 1)


def _is_product(node: Node) -> bool:
    return node.name == "dot_general" and not is_multiplication(node)


def _kernel_s(device: Device) -> float:
    return LESS * device.kernel_s if device.platform == "cpu" else device.kernel_s


def batched(node: Node, moving: Sequence[bool], length: int, device: Device) -> float:
    """Seconds for each of `length` steps, if all are done at once. A matrix product with a matrix
    that is the same in each step becomes a large one.

    Args:
        moving: which inputs differ by step.
    """
    if not any(moving):
        return alone(node, device) / length
    if not _is_product(node):
        return _elements(node, device, length)
    if all(moving):
        # As many products as before; a CPU does them one by one.
        return alone(node, device) if device.platform == "cpu" else seconds_of_product(node, device)
    return seconds_of_product(node, device, length, moving.index(True)) / length


def total(nodes: Iterable[Node], device: Device) -> float:
    """Seconds of one step that does these nodes, in at least one kernel."""
    step_s = LESS_S if device.platform == "cpu" else device.step_s
    return step_s + _kernel_s(device) + sum(alone(node, device) for node in nodes)


def _product(node: Node, device: Device) -> float:
    shared = seconds_of_product(node, device)
    if device.platform != "cpu":
        return shared
    # A CPU's cores share a large product, which takes them a while to begin.
    rates = tuple((name, min(rate, ONE_CORE)) for name, rate in device.dot_rates)
    one = seconds_of_product(node, replace(device, dot_rates=rates, half_side=THIN))
    return min(one, shared + device.spread_s)


def _elements(node: Node, device: Device, steps: int) -> float:
    """Of elements that move from and to nowhere; what is idle in a step is not with many."""
    if node.name in FREE:
        return 0.0
    made = sum(each.size for each in node.outputs)
    return computing(work_of_node(node), device) / device.busy(made * steps)
