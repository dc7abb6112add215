"""Seconds of nodes and graphs on a device: the roofline, Williams and others 2009, by kernel.

A kernel takes the longer of computing and moving, and a while to start. A loop takes its body for
each step, but no less than moving what it takes and returns.
"""

from __future__ import annotations

import math
from dataclasses import replace

from orchestrator_core.conductor.cost.calls import body_of
from orchestrator_core.conductor.cost.current_device import this_device
from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.cost.fusion import Group, groups
from orchestrator_core.conductor.cost.fusion_facts import REDUCTIONS
from orchestrator_core.conductor.cost.grouped import grouped_s
from orchestrator_core.conductor.cost.invariant import invariant, is_hoisted, unchanging
from orchestrator_core.conductor.cost.library_rows import beside_s
from orchestrator_core.conductor.cost.liveness import peak
from orchestrator_core.conductor.cost.loops import carried, trips
from orchestrator_core.conductor.cost.lying import Lying, is_better_turned
from orchestrator_core.conductor.cost.made_again import made_again_s
from orchestrator_core.conductor.cost.rules.registry import moved
from orchestrator_core.conductor.cost.short_rows import short_rows_s
from orchestrator_core.conductor.cost.strided import strided_s
from orchestrator_core.conductor.cost.totals import work_of, work_of_group
from orchestrator_core.conductor.cost.work import Work
from orchestrator_core.conductor.ir.found_once import found_once
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.usual import is_seldom
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.site import Price


def price(graph: Graph, device: Device | None = None) -> Price:
    """Seconds, and bytes of temporary values at the worst moment; the seconds contain what it takes
    to have that memory, and that of what is returned."""
    return _price(graph, device or this_device())


@found_once
def _price(graph: Graph, device: Device) -> Price:
    temp_bytes = peak(graph, device.platform)
    others = {*graph.inputs, *graph.constants, *graph.outputs}
    busy = seconds(graph, device.holding(temp_bytes + sum(each.nbytes for each in others)))
    made = {each for each in graph.outputs if each in graph.producer}
    fresh = device.fresh_s(temp_bytes) + sum(device.fresh_s(each.nbytes) for each in made)
    return Price(busy + fresh, temp_bytes)


def seconds(graph: Graph, device: Device) -> float:
    """Of all kernels, one after another."""
    return sum(seconds_of_group(group, device) for group in groups(graph, device.platform))


def seconds_of_group(group: Group, device: Device) -> float:
    """Of one kernel, or of a loop or a program with all of its kernels."""
    node = group.root
    given, known = node.params.get("work"), node.params.get("seconds")
    if isinstance(known, float):
        return known
    if isinstance(given, Work):
        return seconds_of_work(given, device, _dtype(node))
    if node.bodies:
        return _of_loop(node, device)
    called = body_of(node)
    if called is not None:
        return seconds(called, device)
    work = work_of_group(group, device.platform)
    made = sum(output.size for output in node.outputs)
    busy = _busy_s(group, work, made, device)
    if node.name == "dot_general":
        busy += _turning(node, device)
    elif not group.is_library:
        busy += short_rows_s(group, device) + strided_s(group, device)
        busy += made_again_s(group, device)
    busy += grouped_s(group.nodes, device)
    moving = work.nbytes / device.byte_rate(work.nbytes)
    return max(busy, moving) + beside_s(group, device) + work.kernels * device.start_s(made)


def seconds_of_work(work: Work, device: Device, dtype: object = None) -> float:
    """Of work whose kernels nobody knows one by one; `dtype` is that of its matrix products."""
    moving = work.nbytes / device.bandwidth
    starting = max(1.0, work.kernels) * device.kernel_s
    return max(computing(work, device, dtype), moving) + starting


def _of_loop(node: Node, device: Device) -> float:
    if node.name == "cond":
        mostly = [body for body in node.bodies if not is_seldom(body)] or node.bodies
        return max(seconds(body, device) for body in mostly) + device.step_s
    is_function = _is_one_function(node, device)
    within = device.within_function() if is_function else device.within_loop()
    before, step = 0.0, within.step_s
    for body in node.bodies:
        same = invariant(body, unchanging(node, body))
        for group in groups(body, device.platform):
            if is_hoisted(group, same):
                before += seconds_of_group(group, device)
            else:
                step += seconds_of_group(group, within)
    busy = before + trips(node) * step
    return max(busy, moved(node) / device.bandwidth) if node.name == "scan" else busy


ONE_FUNCTION = 928
"""Bytes that the steps of a loop may move if XLA is to make one function of it for a CPU. Seen in
0.10.2 in programs of 864 and 896 bytes, and no more in some of 960 and 1024."""


def _is_one_function(node: Node, device: Device) -> bool:
    if device.platform != "cpu":
        return False
    moved = sum(work_of(body, device.platform).nbytes for body in node.bodies)
    return moved + 2 * _stacked_bytes(node) <= ONE_FUNCTION


def _stacked_bytes(node: Node) -> int:
    """What a step of a scan writes into arrays of all steps."""
    if node.name != "scan":
        return 0
    stacked = node.bodies[0].outputs[carried(node)[1].stop :]
    return sum(each.nbytes for each in stacked if isinstance(each, Value))


def computing(work: Work, device: Device, dtype: object = None) -> float:
    """Seconds of a device that is busy with nothing else; `dtype` is that of matrix products."""
    return (
        work.dot_flops / device.dot_rate(dtype)
        + (work.flops - work.dot_flops) / device.loop_rate
        + work.calls / device.call_rate
    )


def seconds_of_product(node: Node, device: Device, again: int = 1, side: int = 0) -> float:
    """Of a ``dot_general`` alone.

    Args:
        again: with so many times the rows, as if it were done for so many left operands at once;
            or if `side` is 1 right ones.
    """
    rows, columns, inner, many = sides_of(node)
    rows, columns = (rows, columns * again) if side else (rows * again, columns)
    busy = _multiplying((rows, columns, inner, many), device, _dtype(node))
    size = max(1, node.output.size)
    left, right = (node.inputs[k].nbytes * (again if k == side else 1) for k in (0, 1))
    nbytes = left + right + node.output.nbytes // size * rows * columns * many
    return max(busy, nbytes / device.byte_rate(nbytes))


TURNED, EVENLY_TURNED = 0.2e-9, 0.95e-9
"""Seconds for each element of a left operand that a CPU's library turns: its columns lie one after
another. The second where its rows are multiples of `EVEN` elements, so that their elements meet in
the same few places of the cache. Measured, EPYC, 2026: 0 to 0.45 ns, and 0.7 to 1.1."""

EVEN = 64
TURNING = 1e-9
"""Seconds for each element that a kernel turns. Measured: 0.7 to 1.2 ns."""


def turning_s(left: Lying, device: Device) -> float:
    """Seconds of turning a left operand within a product."""
    if device.platform != "cpu":
        return 0.0
    each = TURNED if left.free % EVEN else EVENLY_TURNED
    return each * left.many * left.free * left.inner


def _turning(node: Node, device: Device) -> float:
    """Of a product, if it has to turn more than one would that makes its transpose."""
    left, right = node.inputs
    numbers = node.params["dimension_numbers"]
    is_dear = is_better_turned(left, right, numbers)
    return turning_s(Lying.of(left.shape, numbers, 0), device) if is_dear else 0.0


def sides_of(node: Node) -> tuple[int, int, int, int]:
    """Rows, columns and summed elements of a ``dot_general``, and how many products it is."""
    (contracted, _), (batch, _) = node.params["dimension_numbers"]
    shape = node.inputs[0].shape
    inner = math.prod(shape[axis] for axis in contracted)
    many = math.prod(shape[axis] for axis in batch)
    rows = node.inputs[0].size // max(1, inner * many)
    return rows, node.output.size // max(1, rows * many), inner, many


VECTOR_RATE = 28e9
"""Flops of 32 bits a second of a matrix times a vector, both of which a CPU's cache holds: XLA's
own loop on one core. Measured, EPYC, 2026: 24 to 38e9 with sides of 64 to 512, in batches too."""


def product_part(rows: int, columns: int, inner: int, many: int, device: Device) -> float:
    """The part of the device's rate that a matrix product reaches: thin ones are slow."""
    sides = math.prod(side / (side + device.half_side) for side in (rows, columns, inner))
    part = float(sides) * device.busy(rows * columns * many / 8)
    if device.platform == "cpu" and 1 in (rows, columns):
        of_one = VECTOR_RATE / device.dot_rate("float32")
        part = max(part, float(sides) * (1 + device.half_side) * of_one)
    return max(1e-6, part)


def _busy_s(group: Group, work: Work, made: int, device: Device) -> float:
    """Of a kernel that moves nothing: of its matrix products, each with the part of the rate that
    it reaches, and of all else; small kernels leave some of the device idle."""
    products = [node for node in group.nodes if node.name == "dot_general"]
    flops = sum(2.0 * math.prod(sides_of(node)) for node in products)
    others = replace(work, flops=work.flops - flops, dot_flops=work.dot_flops - flops)
    part = device.busy(max(made, _summed(group.root))) * device.part_at_work
    multiplying = sum(_multiplying(sides_of(node), device, _dtype(node)) for node in products)
    return computing(others, device, _dtype(group.root)) / part + multiplying


def _summed(root: Node) -> int:
    """Elements that a reduction puts together, all of them at once: few results are no reason that
    a device idles."""
    return root.inputs[0].size if root.name in REDUCTIONS else 0


def _multiplying(sides: tuple[int, int, int, int], device: Device, dtype: object) -> float:
    """Of a product with `sides_of` these, which moves nothing."""
    return 2.0 * math.prod(sides) / device.dot_rate(dtype) / product_part(*sides, device)


def _dtype(node: Node) -> object:
    """Of what a node reads: the first that is no integer."""
    types = [each.dtype for each in node.inputs]
    return next((each for each in types if getattr(each, "kind", "u") not in "iub"), None)
