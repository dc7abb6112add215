"""Seconds of nodes and graphs on a device: the roofline, Williams and others 2009, by kernel.

A kernel takes the longer of computing and moving, and a while to start. A loop takes its body for
each step, but no less than moving what it takes and returns.
"""

from __future__ import annotations

import math

from orchestrator_core.conductor.cost.calls import body_of
from orchestrator_core.conductor.cost.current_device import this_device
from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.cost.fusion import Group, groups
from orchestrator_core.conductor.cost.liveness import peak
from orchestrator_core.conductor.cost.loops import trips
from orchestrator_core.conductor.cost.rules.registry import moved
from orchestrator_core.conductor.cost.totals import work_of_group
from orchestrator_core.conductor.cost.work import Work
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.site import Price


def price(graph: Graph, device: Device | None = None) -> Price:
    """Seconds, and bytes of temporary values at the worst moment; the seconds contain what it takes
    to have that memory."""
    device = device or this_device()
    temp_bytes = peak(graph, device.platform)
    return Price(seconds(graph, device) + device.fresh_s(temp_bytes), temp_bytes)


def seconds(graph: Graph, device: Device) -> float:
    """Of all kernels, one after another."""
    return sum(seconds_of_group(group, device) for group in groups(graph, device.platform))


def seconds_of_group(group: Group, device: Device) -> float:
    """Of one kernel, or of a loop or a program with all of its kernels."""
    node = group.root
    given = node.params.get("work")
    if isinstance(given, Work):
        return seconds_of_work(given, device, _dtype(node))
    if node.bodies:
        return _of_loop(node, device)
    called = body_of(node)
    if called is not None:
        return seconds(called, device)
    work = work_of_group(group, device.platform)
    made = sum(output.size for output in node.outputs)
    computing = _computing(work, device, _dtype(node)) / _part(node, made, device)
    moving = work.nbytes / device.byte_rate(work.nbytes)
    return max(computing, moving) + work.kernels * device.kernel_s


def seconds_of_work(work: Work, device: Device, dtype: object = None) -> float:
    """Of work whose kernels nobody knows one by one; `dtype` is that of its matrix products."""
    moving = work.nbytes / device.bandwidth
    starting = max(1.0, work.kernels) * device.kernel_s
    return max(_computing(work, device, dtype), moving) + starting


def _of_loop(node: Node, device: Device) -> float:
    bodies = [seconds(body, device) for body in node.bodies]
    once = max(bodies) if node.name == "cond" else sum(bodies)
    steps = trips(node) * (once + device.step_s)
    return max(steps, moved(node) / device.bandwidth) if node.name == "scan" else steps


def _computing(work: Work, device: Device, dtype: object) -> float:
    return (
        work.dot_flops / device.dot_rate(dtype)
        + (work.flops - work.dot_flops) / device.loop_rate
        + work.transcendentals / device.call_rate
    )


def _part(node: Node, made: int, device: Device) -> float:
    """The part of the device's rate that a kernel reaches: small ones leave some of it idle."""
    if node.name != "dot_general":
        return device.busy(made)
    (contracted, _), (batch, _) = node.params["dimension_numbers"]
    shape = node.inputs[0].shape
    inner = math.prod(shape[axis] for axis in contracted)
    many = math.prod(shape[axis] for axis in batch)
    rows = node.inputs[0].size // max(1, inner * many)
    columns = made // max(1, rows * many)
    sides = math.prod(side / (side + device.half_side) for side in (rows, columns, inner))
    return max(1e-6, float(sides) * device.busy(made / 8))


def _dtype(node: Node) -> object:
    """Of what a node reads: the first that is no integer."""
    types = [each.dtype for each in node.inputs]
    return next((each for each in types if getattr(each, "kind", "u") not in "iub"), None)
