"""Rows: what is made row by row of what passes sum, found forwards from there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from orchestrator_core.conductor.facts.axes import ROLES, Spec, Untileable, roles
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.facts.transfer import rule_of
from orchestrator_core.conductor.facts.transfer.reductions import REDUCTIONS
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.tile.recipe import ONE_BY_ONE
from orchestrator_core.conductor.tile.region import Boundary


@dataclass(eq=False)
class Rows:
    """Rows that are made of the same arrays.

    Attributes:
        seeds: what they begin with. specs: of what is made row by row, by the nodes that make it.
        sums: of it, over all rows.
    """

    flow: Dataflow
    seeds: list[Value] = field(default_factory=list)
    specs: dict[Node, Spec] = field(default_factory=dict)
    sums: dict[Node, Boundary] = field(default_factory=dict)

    @property
    def made(self) -> set[Value]:
        return {node.output for node in (*self.specs, *self.sums)}

    @property
    def stored(self) -> Iterator[Node]:
        """Those whose rows others need as a whole."""
        returned = set(self.flow.graph.outputs)
        for node in self.specs:
            readers = (reader for reader, _ in self.flow.readers[node.output])
            if node.output in returned or any(not self.does(reader) for reader in readers):
                yield node

    def does(self, node: Node) -> bool:
        return node in self.specs or node in self.sums


def rows_after(flow: Dataflow, seeds: Iterable[tuple[Value, Spec]]) -> list[Rows]:
    """What is made row by row of some values, whose specs have one role; rows that have no array in
    common are apart.

    What needs something that is only known after other rows are done as a whole is left out, and so
    are seeds of that kind.
    """
    return _Finder(flow, dict(seeds)).found()


class _Finder:
    def __init__(self, flow: Dataflow, seeds: dict[Value, Spec]) -> None:
        self.flow, self.seeds = flow, seeds
        self.specs: dict[Value, Spec] = {}
        self.late: set[Value] = set()
        self.group: dict[Value, Rows] = {}

    def found(self) -> list[Rows]:
        for node in self.flow.graph.nodes:
            if not self.late.isdisjoint(node.inputs):
                self.late.update(node.outputs)
                continue
            for seed in self.seeds.keys() & set(node.outputs):
                self.specs[seed] = _as_rows(self.seeds[seed])
                self.group[seed] = Rows(self.flow, [seed])
            self._look_at(node)
        return list({id(rows): rows for rows in self.group.values()}.values())

    def _look_at(self, node: Node) -> None:
        given = [each for each in node.inputs if isinstance(each, Value) and each in self.specs]
        boundary = self._boundary(node, given) if given else None
        if boundary is None:
            if any(each not in self.seeds for each in given):
                self.late.update(node.outputs)
            return
        rows = self._joined([*given, *self._beside(node)])
        if boundary.reduced:
            rows.sums[node] = boundary
            self.late.update(node.outputs)
        else:
            rows.specs[node] = self.specs[node.output] = boundary.out
            self.group[node.output] = rows

    def _boundary(self, node: Node, given: Sequence[Value]) -> Boundary | None:
        """What becomes of the rows; None if it is not done row by row."""
        if node.name not in ONE_BY_ONE and node.name not in REDUCTIONS:
            return None
        try:
            place = node.inputs.index(given[0])
            onward = rule_of(node).forward(node, place, self.specs[given[0]])
        except Untileable:
            return None
        if not all(map(self._fits, node.inputs, onward.inputs)):
            return None
        if not onward.reduced and roles(onward.out) != {ROLES[0]}:
            return None
        return Boundary(node, onward.inputs, onward.out, onward.reduced)

    def _fits(self, atom: Atom, spec: Spec) -> bool:
        return not isinstance(atom, Value) or self.specs.get(atom, spec) == spec

    def _beside(self, node: Node) -> list[Value]:
        """The arrays, at least as large as its result, that it reads beside rows: as they were
        before they were changed element by element."""
        found, open_ = list[Value](), [each for each in node.inputs if each not in self.specs]
        while open_:
            atom = open_.pop()
            maker = self.flow.node_of(atom)
            if maker is not None and maker.name in ONE_BY_ONE:
                open_ += maker.inputs
            elif isinstance(atom, Value) and atom.size >= node.output.size:
                found.append(atom)
        return found

    def _joined(self, read: Sequence[Value]) -> Rows:
        """The rows that are made of any of these, as one."""
        first, *others = {
            id(self.group[v]): self.group[v] for v in read if v in self.group
        }.values()
        for other in others:
            first.seeds.extend(other.seeds)
            first.specs.update(other.specs)
            first.sums.update(other.sums)
        moved = [value for value, rows in self.group.items() if rows in others]
        self.group.update(dict.fromkeys([*moved, *read], first))
        return first


def _as_rows(spec: Spec) -> Spec:
    return tuple(
        tuple((size, None if role is None else ROLES[0]) for size, role in axis) for axis in spec
    )
