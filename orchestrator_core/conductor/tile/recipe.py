"""Recipes: which operations on tiles make the wanted tiles, found once, from demand backwards.

A tile is made from tiles of the operands, as far back as operations can be tiled and what they read
has both roles. What is there already as a whole is cut: that is a leaf. So nothing but a leaf must
ever be right about what belongs to a region.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import jax.numpy as jnp

from orchestrator_core.conductor._jax import is_inexact
from orchestrator_core.conductor.cost.rules.elementwise import SIMPLE
from orchestrator_core.conductor.facts.axes import Spec, Untileable, roles
from orchestrator_core.conductor.facts.bounds import COPIES, is_below_zero
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.facts.transfer import rule_of
from orchestrator_core.conductor.facts.transfer.cumulative import FROM_BLOCKS
from orchestrator_core.conductor.facts.transfer.elementwise import ELEMENTWISE
from orchestrator_core.conductor.facts.transfer.views import RESHAPES
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

VIEWS = ("broadcast_in_dim", "transpose", *RESHAPES)
ONE_BY_ONE = ELEMENTWISE | {*VIEWS}
LIGHT = frozenset((*SIMPLE, *VIEWS, "iota"))
"""What is made again sooner than kept."""

Key: TypeAlias = tuple[Value, Spec]
"""A value, and how tiles cut it."""

Wanted: TypeAlias = Key | Literal


def key_of(atom: Atom, spec: Spec) -> Wanted:
    return atom if isinstance(atom, Literal) else (atom, spec)


@dataclass(frozen=True)
class Step:
    """Attributes:
    node: what is done. made: what it makes. inputs: what it reads.
    is_below_zero: is it a difference that is proven to be nowhere above zero?
    is_compared: is what it makes compared with the same, made in another pass? See `rounded`.
    late: how many of its inputs, the last, it seldom needs. Where tiles wait for that it is given
        a function in their place, which makes them.
    """

    node: Node
    made: Key
    inputs: tuple[Wanted, ...]
    is_below_zero: bool = False
    late: int = 0
    is_compared: bool = False

    @property
    def spec(self) -> Spec:
        return self.made[1]

    def __call__(self, arrays: Sequence[Any], tile: Tile) -> Any:
        if self.is_below_zero:
            made = below_zero(*arrays)
        else:
            made = rule_of(self.node).evaluate(self.node, self.spec, arrays, tile)
        return rounded(made) if self.is_compared else made


@dataclass(frozen=True)
class Recipe:
    """Attributes:
    leaves: what is cut out of values that are there. steps: in order.
    """

    leaves: tuple[Key, ...]
    steps: tuple[Step, ...]

    @property
    def values(self) -> tuple[Value, ...]:
        """What must be there as a whole."""
        return tuple(dict.fromkeys(value for value, _ in self.leaves))

    def tiles(
        self, read: Callable[[Key], Any], tile: Tile, waits: bool = False
    ) -> Mapping[Key, Any]:
        """All tiles at one place; `read` cuts leaves.

        Args:
            waits: is what a step seldom needs made when it does?
        """
        known = {key: read(key) for key in self.leaves}
        for step in self.steps:
            first = len(step.inputs) - (step.late if waits else 0)
            arrays = [_array(known, each) for each in step.inputs[:first]]
            if first < len(step.inputs):
                arrays.append(functools.partial(self._again, step.inputs[first:], known, tile))
            known[step.made] = step(arrays, tile)
        return known

    def _again(self, wanted: Sequence[Wanted], known: Mapping[Key, Any], tile: Tile) -> list[Any]:
        """Tiles made once more from those that are kept anyway, products and exponentials, so that
        nothing else must be kept for them."""
        steps, made = {step.made: step for step in self.steps}, dict[Key, Any]()

        def get(each: Wanted) -> Any:
            if isinstance(each, Literal):
                return each.value
            step = steps.get(each)
            if step is None or step.node.name not in LIGHT:
                return known[each]
            if each not in made:
                made[each] = step([get(one) for one in step.inputs], tile)
            return made[each]

        return [get(each) for each in wanted]


def _array(known: Mapping[Key, Any], wanted: Wanted) -> Any:
    return wanted.value if isinstance(wanted, Literal) else known[wanted]


StepOf: TypeAlias = Callable[[Spec], Step | None]


@dataclass(frozen=True)
class Instead:
    """Attributes:
    steps: by value, what makes a tile of it in a way of its own.
    near: values that are made of these element by element.
    """

    steps: Mapping[Value, StepOf]
    near: frozenset[Value]

    @classmethod
    def of(cls, flow: Dataflow, steps: Mapping[Value, StepOf]) -> Instead:
        near, stack = set[Value](), list(steps)
        while stack:
            for node, _ in flow.readers[stack.pop()]:
                if node.name in ONE_BY_ONE and node.output not in near:
                    near.add(node.output)
                    stack.append(node.output)
        return cls(steps, frozenset(near))


AS_IT_IS = Instead({}, frozenset())


def recipe_of(flow: Dataflow, wanted: Iterable[Wanted], instead: Instead = AS_IT_IS) -> Recipe:
    """How all that is wanted is made."""
    leaves: dict[Key, None] = {}
    steps: dict[Key, Step] = {}
    stack = [each for each in wanted if not isinstance(each, Literal)]
    while stack:
        key = stack[-1]
        if key in leaves or key in steps:
            stack.pop()
            continue
        step = _step(flow, key, instead)
        if step is None:
            leaves[stack.pop()] = None
            continue
        ahead = [
            each
            for each in step.inputs
            if not isinstance(each, Literal) and each not in leaves and each not in steps
        ]
        if ahead:
            stack += ahead
        else:
            steps[stack.pop()] = step
    return Recipe(tuple(leaves), tuple(_apart(flow, steps)))


def _apart(flow: Dataflow, steps: Mapping[Key, Step]) -> Iterator[Step]:
    """The steps; those that make what is compared, or what that is made of, make it by
    themselves."""
    compared: set[Wanted] = {key for key in steps if key[0] in flow.compared}
    for key, step in reversed(list(steps.items())):
        if key in compared:
            compared.update(step.inputs)
    for key, step in steps.items():
        may_differ = step.node.name in ROUNDING and is_inexact(key[0].dtype)
        yield replace(step, is_compared=True) if may_differ and key in compared else step


def _step(flow: Dataflow, key: Key, instead: Instead) -> Step | None:
    """What makes a tile from tiles; None of a leaf."""
    value, spec = key
    node, count = flow.node_of(value), len(roles(spec))
    if count == 1 and value in instead.steps:
        return instead.steps[value](spec)
    is_near = count == 1 and value in instead.near
    if node is None or (count < 2 and not is_near and not _is_free(flow, value, node)):
        return None
    if count == 0 and not (flow.is_cheap(value) and value.size == 1):
        return None
    try:
        specs: Sequence[Spec] = rule_of(node).back(node, spec)
    except Untileable:
        return None
    is_low = count == 2 and _rounds_late(flow, node) and is_below_zero(flow, node)
    return Step(node, key, tuple(map(key_of, node.inputs, specs)), is_low)


def below_zero(value: Any, largest: Any) -> Any:
    """``value - largest``, and exactly 0 where they are equal. If the value is a product, a
    compiler may make one rounding of it and the difference, and what it is off by then is as large
    as the value's last digit: of ``-1e30 * scale``, which masks, infinite when exponentiated.
    Infinities still give NaN."""
    return jnp.where(value == largest, largest - largest, value - largest)


def rounded(made: Any) -> Any:
    """The same numbers, made by themselves. What is compared for equality with what another pass
    has made must be the same in every bit, and a compiler sees what else reads it: XLA makes one
    rounding of a product and a sum, divides by a root, or multiplies with its inverse, and leaves
    exponentials and sines to another library if a sum or the largest of them is all that is asked
    for. Twice a NaN is that NaN, whose sign `top_k` minds."""
    return jnp.where(made == made, made, made + made)


ROUNDS_NOTHING = {"neg", "abs", "sign", "max", "min", "clamp", "select_n", *COPIES}
SUMS = {"dot_general", "reduce_prod", "reduce_sum", FROM_BLOCKS}
ROUNDING = (ELEMENTWISE | SUMS) - ROUNDS_NOTHING
"""Operations whose results compilers may round in more than one way."""


def _maker(flow: Dataflow, atom: Atom) -> Node | None:
    """Who makes the numbers of a value, wherever they stand in it."""
    found = flow.node_of(atom)
    while found is not None and (found.name in VIEWS or found.name in COPIES):
        found = flow.node_of(found.inputs[0])
    return found


ROUNDED = frozenset({"dot_general", "gather"})
"""What is never rounded together with a difference that reads it."""

CHOICES = frozenset({"select_n", "max", "min"})
"""Compilers may take the difference of what is chosen from, before they choose."""


def _rounds_late(flow: Dataflow, node: Node) -> bool:
    """Is it a difference that a compiler may round together with what makes its first operand?"""
    return node.name == "sub" and _is_late(flow, node.inputs[0])


def _is_late(flow: Dataflow, atom: Atom) -> bool:
    """Each maker is asked once, however many choices lie between."""
    seen, open_ = set[Node](), [atom]
    while open_:
        given = _maker(flow, open_.pop())
        if given is None or given in seen:
            continue
        seen.add(given)
        if given.name in CHOICES:
            open_ += given.inputs[given.name == "select_n" :]
        elif given.name not in ROUNDED:
            return True
    return False


def _is_free(flow: Dataflow, value: Value, node: Node) -> bool:
    """Is a tile made in no time, so that the whole need not be there? So are positions, and what
    only stands elsewhere, or several times, in another value."""
    return node.name in VIEWS or flow.is_cheap(value)
