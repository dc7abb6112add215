"""Regions: all values that have both axes of a pairwise computation, grown from one of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator_core.conductor.facts.axes import Role, Spec, Untileable, roles, untiled
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.facts.transfer import Onward, rule_of
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

RETURNED = "it is returned"


@dataclass(frozen=True)
class Boundary:
    """A node whose result has lost a role: tiles of its operands are accumulated.

    Attributes:
        inputs: specs of its operands. out: of its result. reduced: roles that are lost.
    """

    node: Node
    inputs: tuple[Spec, ...]
    out: Spec
    reduced: frozenset[Role]


@dataclass
class Region:
    """Attributes:
    length: elements along each role. specs: of the values in the region.
    boundaries: by node. escapes: values that are needed as a whole, and why.
    solid: values that cannot be made tile by tile, and why.
    """

    flow: Dataflow
    seed: Value
    length: dict[Role, int]
    specs: dict[Value, Spec] = field(default_factory=dict)
    boundaries: dict[Node, Boundary] = field(default_factory=dict)
    escapes: dict[Value, str] = field(default_factory=dict)
    solid: dict[Value, str] = field(default_factory=dict)

    @property
    def owned(self) -> list[Value]:
        """What need not be kept as a whole any more, if it does not escape."""
        return [v for v in self.specs if self.flow.node_of(v) and not self.flow.is_cheap(v)]

    @property
    def stored(self) -> list[Value]:
        """What is written as a whole, tile by tile."""
        return [v for v in self.owned if v in self.escapes and v not in self.solid]

    @property
    def is_made(self) -> bool:
        """Of what has one of the two axes at most?"""
        return not self.solid and all(self.flow.node_of(value) for value in self.specs)

    @property
    def has_coordinates(self) -> bool:
        """Is an axis beside the two summed over, or the like, within the region?"""
        made_by = (self.flow.node_of(value) for value in self.specs)
        return any(
            node is not None and node.name.startswith("reduce_") and node.inputs[0] in self.specs
            for node in made_by
        )


def grown(flow: Dataflow, seed: Value, axes: tuple[int, int]) -> Region:
    """The region around a value whose two axes are the roles ``i`` and ``j``."""
    spec = list(untiled(seed.shape))
    for role, axis in zip("ij", axes, strict=True):
        spec[axis] = ((seed.shape[axis], role),)
    region = Region(flow, seed, {"i": seed.shape[axes[0]], "j": seed.shape[axes[1]]})
    work: list[tuple[Atom, Spec]] = [(seed, tuple(spec))]
    while work:
        value, given = work.pop()
        if isinstance(value, Literal) or value in region.specs or len(roles(given)) < 2:
            continue
        region.specs[value] = given
        work += _around(region, value, given)
    for each in flow.graph.outputs:
        if isinstance(each, Value) and each in region.specs:
            region.escapes[each] = RETURNED
    return region


def _around(region: Region, value: Value, spec: Spec) -> list[tuple[Atom, Spec]]:
    """What the value is made of, and what is made of it."""
    node = region.flow.node_of(value)
    if node is None:
        return []
    found: list[tuple[Atom, Spec]] = []
    try:
        found += zip(node.inputs, rule_of(node).back(node, spec), strict=True)
    except Untileable as why:
        region.solid[value] = str(why)
    if region.flow.is_cheap(value):
        return found
    for reader, place in region.flow.readers[value]:
        found += _onward(region, value, spec, reader, place)
    return found


def _onward(
    region: Region, value: Value, spec: Spec, reader: Node, place: int
) -> list[tuple[Atom, Spec]]:
    if reader in region.boundaries:
        return []
    try:
        onward = rule_of(reader).forward(reader, place, spec)
        return [*zip(reader.inputs, onward.inputs, strict=True), *_out(region, reader, onward)]
    except Untileable as why:
        region.escapes[value] = str(why)
        return []


def _out(region: Region, reader: Node, onward: Onward) -> list[tuple[Atom, Spec]]:
    if not onward.reduced:
        return [(reader.output, onward.out)]
    if not rule_of(reader).sums:
        raise Untileable(f"{reader.name} drops a tiled axis")
    boundary = Boundary(reader, onward.inputs, onward.out, onward.reduced)
    region.boundaries[reader] = boundary
    return []
