"""Which nodes after a kernel are done row by row, proven by their dataflow.

A result is made row by row if each tile of it needs the same tile of what is accumulated, and
nothing else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from orchestrator_core.conductor.facts.axes import Part, Spec, Untileable, roles
from orchestrator_core.conductor.facts.cells import Cells, followed
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.kernels.rows import (
    Rows,
    finished_of,
    is_checked,
    is_free,
    reads_of,
)
from orchestrator_core.conductor.kernels.squeezed import RULES
from orchestrator_core.conductor.tile.recipe import VIEWS


def rows_after(graph: Graph, source: Node, cut: Sequence[Spec]) -> Rows | None:
    """What is worth doing within a kernel; None if nothing is.

    Args:
        cut: how its programs cut what it makes, all by the same roles.
    """
    start = Rows(graph, source, (), dict(zip(source.outputs, cut, strict=True)))
    rows = _with_specs(_following(start, [each for each in graph.nodes if _is_possible(each)]))
    rows = _following(
        rows, [n for n in rows.nodes if is_free(n) or rows.specs.keys() >= {*n.outputs}]
    )
    proven = _proven(rows)
    rows = _following(rows, [n for n in rows.nodes if n in proven or not is_checked(n)])
    rows = _trimmed(rows)
    is_work = any(node.name not in VIEWS for node in rows.traced(rows.results).nodes)
    return rows if is_work and rows.nbytes <= _moved_otherwise(rows) else None


def _moved_otherwise(rows: Rows) -> int:
    """Bytes of what is accumulated, written and read again."""
    read = set[Atom]().union(*(reads_of(node) for node in rows.nodes))
    made = rows.source.outputs
    return sum(value.nbytes * (2 if value in read else 1) for value in made)


def _is_possible(node: Node) -> bool:
    if node.effects or node.bodies:
        return False
    return finished_of(node) is not None or node.name in RULES


def _following(rows: Rows, possible: Collection[Node]) -> Rows:
    """Those that need nothing but what is accumulated and each other. Where rows are in doubt they
    may need more, if that is there before the kernel runs."""
    inside, free, late = set[Atom](rows.source.outputs), set[Atom](), set[Atom]()
    may_be, nodes = set(possible), []
    for node in rows.graph.nodes:
        read, own = _values(node.inputs), _values(reads_of(node))
        is_fed = bool(own & inside) and own <= inside | free and not read & late
        if (is_fed or is_free(node)) and node in may_be:
            (inside if is_fed else free).update(node.outputs)
            nodes.append(node)
        elif read & (inside | late):
            late.update(node.outputs)
    return dataclasses.replace(rows, nodes=_needed(nodes))


def _values(atoms: Sequence[Atom]) -> set[Atom]:
    return {each for each in atoms if isinstance(each, Value)}


def _needed(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Without what is made of nothing and read by none of these."""
    read = set[Atom]().union(*(_values(node.inputs) for node in nodes))
    return tuple(node for node in nodes if not is_free(node) or read & {*node.outputs})


def _trimmed(rows: Rows) -> Rows:
    """Without what comes last and makes no less than it reads: XLA fuses it with what reads it,
    other than sums."""
    for node in reversed(rows.nodes):
        is_kept = finished_of(node) is not None or _lays_cells(rows, node)
        left = None if is_kept else _without(rows, node)
        is_view = node.name in VIEWS
        if left is not None and left.nbytes < rows.nbytes + is_view:
            rows = left
    return rows


def _lays_cells(rows: Rows, node: Node) -> bool:
    """Does it only put heads and the like elsewhere? A kernel can write them there at once, and
    what XLA reads next it would copy."""
    if node.name != "transpose":
        return False
    given = node.inputs[0]
    before = rows.specs.get(given, ()) if isinstance(given, Value) else ()
    after = rows.specs.get(node.output, ())
    return before != after and _held(before) == _held(after)


def _held(spec: Spec) -> list[Part]:
    """Parts of an axis that a program holds more than one element of."""
    return [part for axis in spec for part in axis if not str(part[1]).startswith("cell")]


def _without(rows: Rows, node: Node) -> Rows | None:
    """None if another one needs it."""
    left = [each for each in rows.nodes if each is not node]
    is_needed = any(not _values(each.inputs).isdisjoint(node.outputs) for each in left)
    return None if is_needed else dataclasses.replace(rows, nodes=_needed(left))


def _with_specs(rows: Rows) -> Rows:
    """With specs of all that is proven to be made row by row."""
    values = [value for node in rows.nodes for value in node.outputs]
    traced = rows.traced(values)
    found = followed(traced, _cut(rows, traced))
    specs = {
        value: found[atom]
        for value, atom in zip(values, traced.outputs, strict=True)
        if isinstance(atom, Value) and atom in found and _is_apart(rows, traced, atom, found[atom])
    }
    return dataclasses.replace(rows, specs={**rows.specs, **specs})


def _proven(rows: Rows) -> set[Node]:
    """Nodes whose rows can be checked row by row."""
    traced = rows.traced((), rows.checked)
    return {
        node
        for node, atom in zip(rows.checked, traced.outputs, strict=True)
        if _is_apart(rows, traced, atom, rows.spec_of_usual(node))
    }


def _cut(rows: Rows, traced: Graph) -> dict[Value, Spec]:
    return {a: rows.specs[b] for a, b in zip(traced.inputs, rows.source.outputs, strict=True)}


def _is_apart(rows: Rows, traced: Graph, atom: Atom, spec: Spec) -> bool:
    """Does a tile of it need nothing but the same tile of what is accumulated?"""
    cut = _cut(rows, traced)
    try:
        cells = Cells.of(traced, [(atom, spec)])
    except Untileable:
        return False
    is_possible = all(step.node.name in RULES for step in cells.steps)
    is_own = all(cut.get(leaf) == spec for leaf, spec in cells.leaves)
    return is_possible and is_own and roles(spec) == frozenset().union(*map(roles, cut.values()))
