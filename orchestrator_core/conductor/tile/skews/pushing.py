"""A skew of a value as what is made of skews of its factors."""

from __future__ import annotations

from orchestrator_core.conductor.facts.axes import Untileable, axis_roles, untiled
from orchestrator_core.conductor.facts.lines.skew import Skew
from orchestrator_core.conductor.facts.transfer import rule_of
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.facts.transfer.views import RESHAPES
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.tile.skews.building import Building
from orchestrator_core.conductor.tile.skews.pairs import Producer, is_scaling
from orchestrator_core.conductor.tile.skews.products import SKEWED, node_of

SUMS = frozenset({"add", "add_any", "sub"})


class Pushing:
    """Attributes:
    build: what it makes.
    """

    def __init__(self, build: Building, producer: Producer) -> None:
        self.build, self._producer = build, producer

    def skewed(self, atom: Atom, rows: int, columns: int, skew: Skew) -> Value | None:
        """The value whose two axes are skewed; None if no product is found to begin with."""
        node = self._producer.get(atom) if isinstance(atom, Value) else None
        if node is None:
            return None
        if node.name == "dot_general":
            return self._product(node, rows, columns, skew)
        if node.name in (*RESHAPES, "transpose"):
            return self._view(node, rows, columns, skew)
        operands = 1 if is_scaling(node, self._producer) else 2 if node.name in SUMS else 0
        if not operands or any(each.shape != atom.shape for each in node.inputs[:operands]):
            return None
        made = [self.skewed(each, rows, columns, skew) for each in node.inputs[:operands]]
        given = [each for each in made if each is not None]
        if len(given) < operands:
            return None
        return self.build.like(node, [*given, *node.inputs[operands:]], given[0].shape)

    def _view(self, node: Node, rows: int, columns: int, skew: Skew) -> Value | None:
        shape = node.output.shape
        spec = list(untiled(shape))
        spec[rows], spec[columns] = ((shape[rows], "i"),), ((shape[columns], "j"),)
        try:
            given = rule_of(node).back(node, tuple(spec))[0]
        except Untileable:
            return None
        at = {role: k for k, axis in enumerate(given) for role in axis_roles(axis)}
        if any(len(given[k]) > 1 for k in at.values()):
            return None
        made = self.skewed(node.inputs[0], at["i"], at["j"], skew)
        if made is None:
            return None
        if node.name == "transpose":
            view = self.build.transposed(made, node.params["permutation"])
        else:
            view = self.build.reshaped(made, _with(shape, rows, columns, skew))
        return view if isinstance(view, Value) else None

    def _product(self, node: Node, rows: int, columns: int, skew: Skew) -> Value | None:
        """If both axes are each of one operand alone, not the same."""
        at = _origin(Sides.of(node))
        if rows not in at or columns not in at or at[rows][0] == at[columns][0]:
            return None
        (side, axis), (other, table) = at[rows], at[columns]
        inputs = list(node.inputs)
        inputs[side] = self.build.fitted(inputs[side], axis, -skew.down, skew.rows)
        inputs[other] = self.build.fitted(inputs[other], table, -skew.least, skew.width)
        shape = _with(node.output.shape, rows, columns, skew)
        made = Value(node.output.aval.update(shape=shape))
        params = {"skew": skew, "side": side, "rows": rows, "columns": columns, "table": table}
        return self.build.put(node_of(SKEWED, node, inputs, made, params))


def _origin(sides: Sides) -> dict[int, tuple[int, int]]:
    """For each axis of a product that only one operand has: which, and its axis there."""
    first = len(sides.batch[0])
    free = [(side, axis) for side in (0, 1) for axis in sides.free[side]]
    return dict(enumerate(free, first))


def _with(shape: tuple[int, ...], rows: int, columns: int, skew: Skew) -> tuple[int, ...]:
    sizes = {rows: skew.rows, columns: skew.columns}
    return tuple(sizes.get(k, size) for k, size in enumerate(shape))
