"""Loops over time, as kernels."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jax import lax

from orchestrator_core.conductor.cost import Device, Work, price, this_device, work_of
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.kernels.cut import Cut, Place
from orchestrator_core.conductor.kernels.lowering import refusal
from orchestrator_core.conductor.kernels.name import NAME
from orchestrator_core.conductor.kernels.pairs import apart, in_reals, is_complex, together
from orchestrator_core.conductor.kernels.settings import are_interpreted
from orchestrator_core.conductor.kernels.stream import Stream, stream_of
from orchestrator_core.conductor.kernels.stream_kernel import AHEAD, StreamKernel
from orchestrator_core.conductor.refused import Refused
from orchestrator_core.conductor.site import AS_IT_IS, Price, Site
from orchestrator_core.conductor.tile.settings import TileSettings

MOST_HELD = 2**14
"""Elements of what a program reads and makes in a step."""

STEP_S = 1e-7
"""Seconds of a step: about 200 cycles, in which what it has read arrives and is worked on."""


@dataclass(frozen=True)
class StreamProgram:
    """Called with the inputs of a loop it returns what the loop returns.

    Attributes:
        node: the loop, for other devices than the one it is made for.
    """

    node: Node
    kernel: StreamKernel

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        if self.kernel.is_interpreted:
            return self.by_kernel(*arrays)
        made: Any = lax.platform_dependent(*arrays, cuda=self.by_kernel, default=self.by_loop)
        return list(made)

    def by_kernel(self, *arrays: Any) -> list[Any]:
        return together(self.kernel(apart(arrays)), self.node.outputs)

    def by_loop(self, *arrays: Any) -> list[Any]:
        return list(self.node.apply(arrays))

    @property
    def work(self) -> Work:
        """What a step does, for all parts and steps. Memory is read and written once."""
        programs = math.prod(self.kernel.stream.count.values())
        once = work_of(self.kernel.graph, "gpu").times(programs * self.kernel.length)
        moved = sum(each.nbytes for each in (*self.node.inputs, *self.node.outputs))
        return dataclasses.replace(once, nbytes=moved, temp_bytes=0, kernels=1.0)

    def seconds(self, device: Device) -> float:
        work = self.work
        computing = work.flops / device.loop_rate + work.calls / device.call_rate
        waiting = self.kernel.length * STEP_S
        return max(computing, waiting, work.nbytes / device.bandwidth) + device.kernel_s


def in_kernels(graph: Graph, goal: Goal, settings: TileSettings) -> tuple[Graph, list[Site]]:
    """All loops for which that is right and faster."""
    sites, nodes = [], []
    for node in graph.nodes:
        if node.name == "scan" and not node.effects and Scan.of(node).carry:
            node, site = _tried(node, goal, settings)
            sites.append(site)
        nodes.append(node)
    if not any(site.is_changed for site in sites):
        return graph, sites
    return dataclasses.replace(graph, nodes=tuple(nodes)), sites


def _tried(node: Node, goal: Goal, settings: TileSettings) -> tuple[Node, Site]:
    found = f"a loop of {Scan.of(node).length} steps"
    known = goal.decided(NAME, node.source, found)
    if known is not None and not known.is_changed:
        return node, known
    try:
        program = program_of(node)
    except Refused as refused:
        return node, Site(NAME, node.source, found, AS_IT_IS, str(refused))
    except Exception as error:  # this site stays as it is
        return node, Site.failed(NAME, node.source, found, error)
    was = price(_alone(node))
    now = Price(program.seconds(this_device()), 0)
    if was.seconds < now.seconds and not settings.always and known is None:
        why = f"as a kernel it would take {now.seconds:.2g} s, as a loop {was.seconds:.2g} s"
        return node, Site(NAME, node.source, found, AS_IT_IS, why, was, now)
    programs = math.prod(program.kernel.stream.count.values())
    chosen = f"a kernel of {programs} programs" if programs > 1 else "a kernel of one program"
    made = Node("kernel_loop", node.inputs, node.outputs, program, {"work": program.work})
    why = "what is carried stays on the chip"
    made = dataclasses.replace(made, source=node.source)
    return made, Site(NAME, node.source, found, chosen, why, was, now)


def program_of(node: Node) -> StreamProgram:
    """Raises:
    Refused: if the loop is no kernel.
    """
    scan = Scan.of(node)
    body = in_reals(scan.body)
    _check_body(body, scan.length)
    stream = stream_of(body, _parts(scan.consts), _parts(scan.carry))
    _check_size(stream)
    shapes = tuple(v.shape for v in node.outputs for _ in range(2 if is_complex(v) else 1))
    is_interpreted = are_interpreted()
    ahead = 2 if is_interpreted else AHEAD
    kernel = StreamKernel(stream, scan.length, scan.reverse, shapes, is_interpreted, ahead)
    program = StreamProgram(node, kernel)
    avals = [each.aval for each in node.inputs]
    why = refusal(program.by_kernel, avals, is_interpreted=kernel.is_interpreted)
    if why:
        raise Refused(why)
    return program


def _check_body(body: Graph, length: int) -> None:
    """Raises:
    Refused: if it has nothing to do, or something that no kernel does.
    """
    if not length:
        raise Refused("it has no steps")
    made = (value for node in body.nodes for value in node.outputs)
    if not all(value.size for value in (*body.inputs, *made)):
        raise Refused("it has an array without elements")
    if any(inner.bodies for inner in body.nodes):
        raise Refused("it has another loop, or a branch, inside")


def _check_size(stream: Stream) -> None:
    """Raises:
    Refused: if a program's part does not fit into registers.
    """
    place = Place({}, {})
    specs = [stream.cells.spec_of(value) for value in stream.body.inputs]
    held = sum(math.prod(Cut(spec).piece(place)) for spec in (*specs, *stream.cells.results))
    if held > MOST_HELD:
        raise Refused(f"a part of it has {held} elements, which do not fit into registers")


def _parts(values: Sequence[Atom]) -> int:
    """Real arrays."""
    return sum(2 if is_complex(value) else 1 for value in values)


def _alone(node: Node) -> Graph:
    inputs = tuple(dict.fromkeys(each for each in node.inputs if isinstance(each, Value)))
    return Graph(inputs, node.outputs, (node,), {})
