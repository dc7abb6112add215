"""Two scans of which the second does again what the first had kept for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from orchestrator_core.conductor.ir.graph import Graph, pruned
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan, stacked
from orchestrator_core.conductor.ir.substitute import cloned, substituted
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.loops.cut import Cut
from orchestrator_core.conductor.loops.edges import Edge


def with_stacks(scan: Scan, dropped: Iterable[Value], kept: Iterable[Value]) -> Scan:
    """The scan without the stacks `dropped`, and with stacks of other slices."""
    gone = set(dropped)
    pairs = [
        (stack, made)
        for stack, made in zip(scan.ys, scan.y_outputs, strict=True)
        if stack not in gone
    ]
    pairs += [(stacked(made, scan.length), made) for made in kept]
    made = tuple(made for _, made in pairs)
    body = dataclasses.replace(scan.body, outputs=(*scan.carry_outputs, *made))
    ys = tuple(stack for stack, _ in pairs)
    return dataclasses.replace(scan, ys=ys, body=pruned(body))


def redoing(reader: Scan, edges: Sequence[Edge], maker: Scan, cut: Cut) -> Scan:
    """The reader, which does again what the maker has done, from what was kept of it.

    Args:
        edges: all from the maker to this reader that are cut. maker: with the stacks it makes now.
    """
    taking = _Taking(reader)
    known: dict[Value, Atom] = {value: taking.slice_of(value, maker) for value in cut.kept}
    nodes = cloned(cut.redone, known)
    stands_for: dict[Value, Atom] = {}
    for edge in edges:
        nodes += cloned(edge.glue, known)
        stands_for[edge.read] = known[edge.glue[-1].output if edge.glue else edge.made]
    return taking.with_body(substituted(reader.body, stands_for), nodes, set(stands_for))


class _Taking:
    """A scan that is given more constants and inputs. Pairs of what is outside and inside."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.consts = list(zip(scan.consts, scan.const_inputs, strict=True))
        self.xs = list(zip(scan.xs, scan.x_inputs, strict=True))
        self.constants: dict[Value, object] = dict(scan.body.constants)

    def slice_of(self, value: Value, maker: Scan) -> Atom:
        """What the maker's body calls `value`, as this scan's body is given it."""
        if value in maker.body.constants:
            self.constants[value] = maker.body.constants[value]
            return value
        if value in maker.const_inputs:
            return _given(self.consts, maker.consts[maker.const_inputs.index(value)], value)
        if value in maker.x_inputs:
            return _given(self.xs, maker.xs[maker.x_inputs.index(value)], value)
        return _given(self.xs, maker.ys[maker.y_outputs.index(value)], value)

    def with_body(self, body: Graph, before: Sequence[Node], unread: set[Value]) -> Scan:
        xs = [(outside, inside) for outside, inside in self.xs if inside not in unread]
        inside = [*(i for _, i in self.consts), *self.scan.carry_inputs, *(i for _, i in xs)]
        body = dataclasses.replace(
            body, inputs=tuple(inside), nodes=(*before, *body.nodes), constants=self.constants
        )
        return dataclasses.replace(
            self.scan,
            consts=tuple(outside for outside, _ in self.consts),
            xs=tuple(outside for outside, _ in xs),
            body=pruned(body),
        )


def _given(known: list[tuple[Atom, Value]], outside: Atom, inside: Value) -> Atom:
    """The name inside of what is outside; a new one if it had none."""
    if isinstance(outside, Literal) and not outside.shape:
        return outside
    for each, name in known:
        if each is outside:
            return name
    known.append((outside, Value(inside.aval)))
    return known[-1][1]
