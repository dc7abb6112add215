"""What is done with each slice before and after a loop, found by dataflow: what may go into it.

An operation before the loop may, if each slice that a step reads needs one slice of what the
operation reads; one after it, if each slice of its result needs one slice of what the loop made.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import jax.numpy as jnp

from orchestrator_core.conductor.facts.axes import ROLES, Spec, Untileable, roles, whole
from orchestrator_core.conductor.facts.transfer import Onward, rule_of
from orchestrator_core.conductor.facts.transfer.elementwise import ELEMENTWISE
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.facts.transfer.reductions import REDUCTIONS
from orchestrator_core.conductor.facts.transfer.views import RESHAPES
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Atom, Value, itemsize
from orchestrator_core.conductor.recurrence.parts import reached

STEP = ROLES[0]
"""The role of the axis that a loop goes along."""

LONG = 4
"""Bytes of a number in which sums are taken step by step."""

SIMPLE = ELEMENTWISE | {"broadcast_in_dim", "transpose", "iota", *RESHAPES, *REDUCTIONS}


@dataclass(frozen=True)
class Gathered:
    """Attributes:
    before: nodes whose slices the loop can make itself, in order. after: and those that it can do
        with what it makes. made: what the nodes after it make, and which axis the steps are.
    sums: nodes that sum over all steps, and the slices of their operands.
    """

    before: tuple[Node, ...]
    after: tuple[Node, ...]
    made: dict[Value, Spec]
    sums: dict[Node, tuple[Spec, ...]]

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (*self.before, *self.after, *self.sums)

    @property
    def late(self) -> tuple[Node, ...]:
        """Those that need what the loop makes."""
        return (*self.after, *self.sums)

    def needs(self, node: Node) -> Sequence[Spec]:
        """The slices that a late node needs."""
        found = self.sums[node] if node in self.sums else needs(node, self.made[node.output])
        return found or ()


def gathered(graph: Graph, node: Node, *, shares: bool = False) -> Gathered:
    """All that may go into a loop; with `shares` also what others read as well."""
    scan = Scan.of(node)
    late = _after(graph, node, scan)
    return dataclasses.replace(late, before=_before(graph, node, scan, late, shares))


def leading(value: Atom, length: int) -> Spec:
    """Of a stack of slices."""
    return ((((length, STEP),)), *(whole(size) for size in value.shape[1:]))


def place_of(spec: Spec) -> int | None:
    """The axis along which slices are cut; None of what is the same in each step."""
    return next((k for k, axis in enumerate(spec) if axis and axis[0][1] is not None), None)


def needs(node: Node, spec: Spec) -> Sequence[Spec] | None:
    """Which slices of its operands a slice of a node's result needs; None if more than one."""
    if node.name not in SIMPLE and not _is_of_one_step(node, spec):
        return None
    try:
        specs = rule_of(node).back(node, spec)
    except Untileable:
        return None
    return specs if all(map(_is_slice, specs)) else None


def _is_slice(spec: Spec) -> bool:
    """Is it one axis that is cut, alone, or none?"""
    cut = [axis for axis in spec if any(role is not None for _, role in axis)]
    return not cut or (len(cut) == 1 and len(cut[0]) == 1)


def _is_of_one_step(node: Node, spec: Spec) -> bool:
    """Is it a product for each step? One with a matrix that all steps share is better done for all
    of them at once; one with vectors, or one that sums nothing, is not."""
    place = place_of(spec)
    if node.name != "dot_general" or place is None:
        return False
    sides = Sides.of(node)
    batch, left = len(sides.batch[0]), len(sides.free[0])
    shared = 1 if place < batch + left else 0
    return place < batch or not sides.contracted[0] or not sides.free[shared]


class _Wanted:
    """Slices of values that are wanted within the steps."""

    def __init__(self) -> None:
        self.specs: defaultdict[Value, set[Spec]] = defaultdict(set)

    def add(self, atoms: Iterable[Atom], specs: Iterable[Spec]) -> None:
        for atom, spec in zip(atoms, specs, strict=True):
            if isinstance(atom, Value):
                self.specs[atom].add(spec)

    def needs(self, maker: Node) -> list[Sequence[Spec]] | None:
        """For each slice that is wanted of what it makes, the slices that it needs; None if it has
        to stay outside, as what is the same in each step does."""
        found = []
        for spec in self.specs[maker.output]:
            specs = needs(maker, spec) if roles(spec) else None
            if specs is None:
                return None
            found.append(specs)
        return found


def _before(graph: Graph, node: Node, scan: Scan, late: Gathered, shares: bool) -> tuple[Node, ...]:
    wanted = _Wanted()
    wanted.add(scan.xs, [leading(x, scan.length) for x in scan.xs])
    for each in late.nodes:
        wanted.add(each.inputs, late.needs(each))
    inside, found = {node, *late.nodes}, []
    needed_whole = {*graph.outputs, *scan.consts, *scan.carry}
    for maker in reversed(graph.nodes):
        if maker in inside or len(maker.outputs) != 1 or maker.output not in wanted.specs:
            continue
        if not shares and not inside.issuperset(graph.consumers[maker.output]):
            continue
        specs = None if maker.output in needed_whole else wanted.needs(maker)
        if specs is not None:
            inside.add(maker)
            found.append(maker)
            for operands in specs:
                wanted.add(maker.inputs, operands)
    return tuple(reversed(found))


def _after(graph: Graph, node: Node, scan: Scan) -> Gathered:
    late = reached(graph, node.outputs)
    made = {y: leading(y, scan.length) for y in scan.ys}
    found, sums = [], {}
    for reader in graph.nodes:
        onward = _onward(reader, made, late)
        if onward is not None and not onward.reduced and needs(reader, onward.out) is not None:
            made[reader.output] = onward.out
            found.append(reader)
        elif onward is not None and onward.reduced and _is_sum(reader):
            sums[reader] = onward.inputs
    return Gathered((), tuple(found), made, sums)


def _onward(reader: Node, made: dict[Value, Spec], late: set[Value]) -> Onward | None:
    """What the reader makes of slices; None if it needs anything else that is late."""
    values = [(k, each) for k, each in enumerate(reader.inputs) if isinstance(each, Value)]
    given = [(k, made[each]) for k, each in values if each in made]
    if not given or len(reader.outputs) != 1:
        return None
    try:
        onward = rule_of(reader).forward(reader, *given[0])
    except Untileable:
        return None
    if not all(map(_is_slice, (onward.out, *onward.inputs))):
        return None
    fits = (made.get(each) == onward.inputs[k] for k, each in values if each in late)
    return onward if (roles(onward.out) or onward.reduced) and all(fits) else None


def _is_sum(node: Node) -> bool:
    """Does it sum over the steps, in numbers that are long enough to do it one by one?"""
    dtype = node.output.dtype
    is_long = jnp.issubdtype(dtype, jnp.inexact) and itemsize(dtype) >= LONG
    return node.name in ("reduce_sum", "dot_general") and bool(is_long)
