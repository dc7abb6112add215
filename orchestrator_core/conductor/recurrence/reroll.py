"""Unrolled loops rolled up: repeated blocks of which each reads what the one before has made."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph, pruned
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.recurrence.periods import Turns
from orchestrator_core.conductor.recurrence.splice import spliced
from orchestrator_core.conductor.recurrence.wholes import Place, wholes_of


@dataclass
class Rolled:
    """A block as the body of a loop.

    Attributes:
        carries: by place of what is handed on: the value in the body, and at the start.
        slices: values in the body, and what they are in each turn.
        reads: slices that are cut out of one array, by place: the value in the body, and the nodes
            that cut.
    """

    turns: Turns
    carries: dict[Place, tuple[Value, Atom]] = field(default_factory=dict)
    slices: list[tuple[Value, tuple[Atom, ...]]] = field(default_factory=list)
    reads: list[tuple[Value, list[Node]]] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    made: list[dict[Value, Place]] = field(default_factory=list)

    @classmethod
    def of(cls, turns: Turns) -> Rolled | None:
        """None if a block needs more than what the one before has made."""
        rolled = cls(turns)
        rolled.made = [
            {value: (j, k) for j, node in enumerate(block) for k, value in enumerate(node.outputs)}
            for block in turns.blocks
        ]
        for place in range(len(turns.blocks[0])):
            if not rolled._take(place):
                return None
        return rolled if rolled.carries else None

    def value(self, place: Place) -> Value:
        """What the body makes at a place."""
        return self.turns.blocks[0][place[0]].outputs[place[1]]

    def _take(self, place: int) -> bool:
        column = self.turns.column(place)
        if _cuts(column):
            self.reads.append((column[0].output, column))
            return True
        if any(_where(node) != _where(column[0]) for node in column):
            return False
        inputs = []
        for atoms in zip(*(node.inputs for node in column), strict=True):
            atom = self._input(atoms)
            if atom is None:
                return False
            inputs.append(atom)
        self.nodes.append(dataclasses.replace(column[0], inputs=tuple(inputs)))
        return True

    def _input(self, atoms: Sequence[Atom]) -> Atom | None:
        """An input of all turns as the body reads it."""
        if all(each is atoms[0] for each in atoms) or _are_equal(atoms):
            return None if atoms[0] in self.made[0] else atoms[0]
        same = [self.made[k].get(each) for k, each in enumerate(atoms)]  # type: ignore[arg-type]
        if same[0] is not None:
            return atoms[0] if all(each == same[0] for each in same) else None
        before = [self.made[k].get(each) for k, each in enumerate(atoms[1:])]  # type: ignore[arg-type]
        if before[0] is not None:
            return self._carry(before, atoms)
        if any(each in made for each in atoms for made in self.made):
            return None
        self.slices.append((Value(atoms[0].aval), tuple(atoms)))
        return self.slices[-1][0]

    def _carry(self, before: Sequence[Place | None], atoms: Sequence[Atom]) -> Atom | None:
        place = before[0]
        if place is None or any(each != place for each in before):
            return None
        made = self.value(place)
        if made.shape != atoms[0].shape or made.dtype != atoms[0].dtype:
            return None
        carried = self.carries.setdefault(place, (Value(made.aval), atoms[0]))
        return carried[0] if carried[1] is atoms[0] else None


def _where(node: Node) -> Any:
    return node.params.get("start_indices"), node.params.get("limit_indices")


def _are_equal(atoms: Sequence[Atom]) -> bool:
    literals = [each for each in atoms if isinstance(each, Literal)]
    return len(literals) == len(atoms) and len({each.bits for each in literals}) == 1


def _cuts(column: Sequence[Node]) -> bool:
    """Do these cut one place after another, at equal distances, out of one array?"""
    first = column[0]
    if first.name != "slice" or any(node.inputs[0] is not first.inputs[0] for node in column):
        return False
    if first.params["strides"] is not None and set(first.params["strides"]) != {1}:
        return False
    starts = np.array([node.params["start_indices"] for node in column])
    moves = np.diff(starts, axis=0)
    axes = np.flatnonzero(moves.any(axis=0))
    return len(axes) == 1 and bool((moves == moves[0]).all()) and first.output.shape[axes[0]] == 1


def _cut(column: Sequence[Node], array: Any) -> Any:
    """All that is cut, stacked along a new axis 0."""
    starts = np.array([node.params["start_indices"] for node in column])
    axis = int(np.flatnonzero(starts[1] != starts[0])[0])
    where = starts[:, axis]
    ends = np.array(column[0].params["limit_indices"])
    low, high, step = int(where.min()), int(where.max()) + 1, abs(int(where[1] - where[0]))
    first = starts[0].copy()
    first[axis], ends[axis] = low, high
    steps = [step if k == axis else 1 for k in range(array.ndim)]
    taken = jax.lax.slice(array, first.tolist(), ends.tolist(), steps)
    taken = jnp.flip(taken, axis) if where[1] < where[0] else taken
    return jnp.expand_dims(jnp.moveaxis(taken, axis, 0), axis + 1)


def rolled_up(graph: Graph, rolled: Rolled) -> Graph:
    """The graph with a loop in the place of the turns."""
    inside = {node for block in rolled.turns.blocks for node in block}
    used = {each for each in graph.outputs if isinstance(each, Value)}
    used.update(i for n in graph.nodes if n not in inside for i in n.inputs if isinstance(i, Value))
    shown = _shown(rolled, used)
    wholes = list(wholes_of(graph, rolled.turns.count, rolled.made, shown))
    wanted = [value for values in shown.values() for value in values.values()]
    consts = _consts(rolled)
    starts = [start for _, start in rolled.carries.values()]
    arrays = [column[0].inputs[0] for _, column in rolled.reads]
    stacks = [atom for _, atoms in rolled.slices for atom in atoms]
    body = pruned(
        Graph(
            (
                *consts,
                *(value for value, _ in rolled.carries.values()),
                *(value for value, _ in rolled.reads),
                *(value for value, _ in rolled.slices),
            ),
            (*map(rolled.value, rolled.carries), *map(rolled.value, shown)),
            tuple(rolled.nodes),
            {},
        )
    )

    def function(*given: Any) -> list[Any]:
        rest = iter(given)
        fixed = [next(rest) for _ in consts]
        carry = [next(rest) for _ in starts]
        xs = [_cut(column, next(rest)) for _, column in rolled.reads]
        xs += [jnp.stack([next(rest) for _ in atoms]) for _, atoms in rolled.slices]

        def step(carry: Any, x: Any) -> Any:
            made = evaluate(body, [*fixed, *carry, *x])
            return made[: len(carry)], made[len(carry) :]

        _, ys = jax.lax.scan(step, carry, xs, length=rolled.turns.count)
        single = [y[k] for y, values in zip(ys, shown.values(), strict=True) for k in values]
        of = dict(zip(shown, ys, strict=True))
        for each in wholes:
            before, after = ([next(rest) for _ in side] for side in (each.before, each.after))
            single.append(each.made(before, of[each.place], after))
        return single

    sides = [atom for each in wholes for atom in (*each.before, *each.after)]
    inputs = [*consts, *starts, *arrays, *stacks, *sides]
    source = rolled.turns.blocks[0][0].source
    outputs = [*wanted, *(each.node.output for each in wholes)]
    return spliced(graph, function, inputs, outputs, source)


def _shown(rolled: Rolled, used: set[Value]) -> dict[Place, dict[int, Value]]:
    """What is read outside: at each place, in which turns."""
    shown: dict[Place, dict[int, Value]] = {}
    for turn, made in enumerate(rolled.made):
        for value, place in made.items():
            if value in used:
                shown.setdefault(place, {})[turn] = value
    return shown


def _consts(rolled: Rolled) -> list[Value]:
    """What all turns read."""
    made = {value for node in rolled.nodes for value in node.outputs}
    made |= {value for value, _ in rolled.carries.values()}
    made |= {value for value, _ in (*rolled.reads, *rolled.slices)}
    read = (each for node in rolled.nodes for each in node.inputs if isinstance(each, Value))
    return [each for each in dict.fromkeys(read) if each not in made]
