"""Passes: what one walk over all tiles accumulates, and from what."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property

from orchestrator_core.conductor.facts.axes import ROLES, Role, Spec, axis_roles, roles
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.facts.transfer.indexing import SCATTERS
from orchestrator_core.conductor.facts.transfer.ranks import K_LARGEST
from orchestrator_core.conductor.ir.alike import looks
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Literal, Value
from orchestrator_core.conductor.tile.accumulators import (
    Accumulator,
    AlongDiagonals,
    BlockTotals,
    KLargest,
    Picked,
    Reduced,
    RunningMax,
    Scattered,
    Stored,
    Summed,
)
from orchestrator_core.conductor.tile.cumulative.nodes import NAMES, TOTALS
from orchestrator_core.conductor.tile.overlaps import may_overlap, may_repeat, may_share
from orchestrator_core.conductor.tile.plans import Levels, Plan
from orchestrator_core.conductor.tile.recipe import AS_IT_IS, Instead, Recipe, StepOf, recipe_of
from orchestrator_core.conductor.tile.region import Region
from orchestrator_core.conductor.tile.sinking import sunk
from orchestrator_core.conductor.tile.skews.products import BY_DIAGONALS
from orchestrator_core.conductor.tile.sole import step_of


@dataclass(frozen=True)
class Pass:
    """Attributes:
    shifts: running maxima, which are taken first in each tile. others: all other accumulators.
    of: which accumulator has what a boundary is made from, or a stored value.
    outer: the role of the outer loop, the inner one being the other.
    instead: of sums that are made in tiles in a way of their own.
    may_share: False if another pass, with which numbers are compared, cannot (`shares`).
    """

    flow: Dataflow
    length: dict[Role, int]
    shifts: tuple[RunningMax, ...]
    others: tuple[Accumulator, ...]
    of: dict[Node | Value, Accumulator]
    outer: Role
    instead: Instead = AS_IT_IS
    may_share: bool = True

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        return (*self.shifts, *self.others)

    @property
    def essence(self) -> tuple[object, ...]:
        """All that what it does depends on."""
        return self.length, self.shifts, self.others, self.outer, self.recipe, self.shares

    @cached_property
    def looks(self) -> Hashable:
        """Apart from which values it is about."""
        return looks(self)

    @cached_property
    def overlaps(self) -> bool:
        """Are all tiles of one size, so that the last of an axis overlaps the one before it?"""
        return may_overlap(self.flow, self.accumulators)

    @cached_property
    def repeats(self) -> bool:
        """May the last rows overlap those before them, all tiles of a row being made again?"""
        if self.compares or self.runnings:  # whose tiles must stand where they do
            return False
        are_rows = all(self.is_row(a.spec) for a in self.accumulators)
        return are_rows and may_repeat(self.flow, self.accumulators)

    @cached_property
    def shares(self) -> bool:
        """May the last tile of an axis have elements of the one before it, which do not count?"""
        return self.may_share and not self.runnings and may_share(self.accumulators)

    @cached_property
    def compares(self) -> bool:
        """Does it make what is compared with numbers of other passes, or made from such? Then its
        tiles must have their size: a compiler may round a product otherwise in another one."""
        pairs = (step.made[0] for step in self.recipe.steps if len(roles(step.spec)) == 2)
        return not self.flow.compared.isdisjoint(pairs)

    @cached_property
    def runnings(self) -> tuple[tuple[Node, Spec], ...]:
        """All running sums and the like, with the specs of what they run along."""
        steps = [(s.node, s.spec) for s in self.recipe.steps if s.node.name in NAMES]
        totals = [a.boundary for a in self.others if isinstance(a, BlockTotals)]
        return (*steps, *((each.node, each.inputs[0]) for each in totals))

    @property
    def inner(self) -> Role:
        return ROLES[1 - ROLES.index(self.outer)]

    @cached_property
    def recipe(self) -> Recipe:
        wanted = [each for a in self.accumulators for each in a.wanted]
        return recipe_of(self.flow, wanted, self.instead)

    def is_row(self, spec: Spec) -> bool:
        """Is it finished when the inner loop is?"""
        return roles(spec) == {self.outer}

    def largest(self, tile: dict[Role, int]) -> int:
        """Elements of the largest value of a tile."""
        made = (math.prod(_sizes(step.spec, tile)) for step in self.recipe.steps)
        return max(made, default=0)


def _sizes(spec: Spec, tile: dict[Role, int]) -> list[int]:
    return [size if role is None else tile[role] for axis in spec for size, role in axis]


def passes_of(region: Region, levels: Levels) -> dict[int, Pass]:
    """All passes, by level."""
    made = {level: _pass(region, levels, level) for level in levels.passes}
    if all(one.shares for one in made.values() if one.compares):
        return made
    return {
        level: replace(one, may_share=False) if one.compares else one for level, one in made.items()
    }


def _pass(region: Region, levels: Levels, level: int) -> Pass:
    plans = [p for p in levels.plans.values() if p.level == level and p.exchange is None]
    of: dict[Node | Value, Accumulator] = {plan.node: _accumulator(plan) for plan in plans}
    for value, at in levels.stores.items():
        if at == level:
            of[value] = Stored((value, region.specs[value]))
    summed = [each for each in of.values() if isinstance(each, Summed)]
    shifts = tuple(dict.fromkeys(each.shift for each in summed if each.shift is not None))
    for plan in plans:
        shared = next((shift for shift in shifts if _is_max_of(plan, shift)), None)
        if shared is not None:
            of[plan.node] = shared
    others = tuple(each for each in of.values() if not isinstance(each, RunningMax))
    rows = [sum(roles(a.spec) == {role} for a in (*shifts, *others)) for role in ROLES]
    outer = ROLES[0] if rows[0] >= rows[1] else ROLES[1]
    return Pass(region.flow, region.length, shifts, others, of, outer, _instead(region, levels))


def pass_as_it_is(region: Region, levels: Levels, plan: Plan, may_share: bool) -> Pass:
    """What sums one boundary alone, and nothing but what it is written to sum."""
    alone = Reduced(plan.boundary)
    (outer,) = set(ROLES) - {plan.role}
    instead = _instead(region, levels)
    of: dict[Node | Value, Accumulator] = {plan.node: alone}
    return Pass(region.flow, region.length, (), (alone,), of, outer, instead, may_share)


def _instead(region: Region, levels: Levels) -> Instead:
    """Sums of which one element may be all that counts."""
    steps: dict[Value, StepOf] = {}
    for plan in levels.plans.values():
        if plan.exchange is not None and plan.exchange.sole is not None:
            boundary, sole = plan.boundary, plan.exchange.sole
            steps[plan.node.output] = functools.partial(step_of, boundary, sole)
    found = Instead.of(region.flow, steps)
    return Instead(found.steps, found.near | sunk(region.flow))


def _accumulator(plan: Plan) -> Accumulator:
    if plan.node.name == "gather":
        return Picked(plan.boundary)
    if plan.node.name in SCATTERS:
        return Scattered(plan.boundary)
    if plan.node.name == BY_DIAGONALS:
        return AlongDiagonals(plan.boundary)
    if plan.node.name == K_LARGEST:
        return KLargest(plan.boundary)
    if plan.node.name == TOTALS:
        return BlockTotals(plan.boundary)
    return Summed(plan) if plan.products else Reduced(plan.boundary)


def _is_max_of(plan: Plan, shift: RunningMax) -> bool:
    """Is the boundary the very maximum that the shift is?"""
    given, (value, spec) = plan.node.inputs[0], shift.exponent
    if plan.node.name != "reduce_max" or isinstance(given, Literal):
        return False
    axes = {k for k, axis in enumerate(spec) if shift.role in axis_roles(axis)}
    return (given, plan.boundary.inputs[0]) == (value, spec) and axes == set(
        plan.node.params["axes"]
    )
