"""R1 and R2: sums of terms alone, of which one may be an exponential with a running shift.

``sum_j exp(x_ij - m_i) y_jd = exp(t_i - m_i) sum_j exp(x_ij - t_i) y_jd`` for any ``t``, so ``m``
need not be known before the sum. With ``t`` the running maximum this is the online softmax of
Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from orchestrator_core.conductor.facts.axes import Spec, tile_shape
from orchestrator_core.conductor.facts.intervals import Interval
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Literal
from orchestrator_core.conductor.tile.accumulators.base import (
    AllOrNothing,
    IntervalOf,
    Tiles,
    always_if,
    summing_type,
)
from orchestrator_core.conductor.tile.accumulators.reduced import all_of, any_of, applied, fresh
from orchestrator_core.conductor.tile.accumulators.running_max import RunningMax
from orchestrator_core.conductor.tile.plans import Plan
from orchestrator_core.conductor.tile.recipe import Wanted, below_zero
from orchestrator_core.conductor.tile.terms import Term, along


@dataclass(frozen=True)
class Summed(AllOrNothing):
    """The sum of the terms of a plan's products."""

    plan: Plan

    @property
    def spec(self) -> Spec:
        return self.plan.boundary.out

    @property
    def dtype(self) -> Any:
        return summing_type(self.plan.node.output.dtype)

    @property
    def start(self) -> Any:
        return 0

    @property
    def shift(self) -> RunningMax | None:
        """Of its exponential, if it has one."""
        found = self.plan.exponential
        return None if found is None else RunningMax(found[1].key, self.plan.role)

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        literals = [each for each in self.plan.node.inputs if isinstance(each, Literal)]
        return (*literals, *(term.key for p in self.plan.products for term in p.terms))

    def added(self, old: Any, tiles: Tiles) -> Any:
        operands = [self._operand(side, tiles) for side in range(len(self.plan.products))]
        operands = fresh(self.plan.boundary, operands, tiles, self.start)
        part = applied(self.plan.boundary, operands, tiles.place).astype(old.dtype)
        found, shift = self.plan.exponential, self.shift
        if found is not None and shift is not None:
            side, term = found
            _, scale = tiles.shifts[shift]
            sizes = {**tiles.place.size, self.plan.role: 1}
            scale = spread(self.plan.node, side, along(term.path, scale, sizes))
            old = old * scale.astype(old.dtype)
        return old + part

    def _operand(self, side: int, tiles: Tiles) -> Any:
        value, spec = self.plan.node.inputs[side], self.plan.boundary.inputs[side]
        if isinstance(value, Literal):
            return value.value
        shape = tile_shape(spec, tiles.place.size)
        one = jnp.ones(shape, value.dtype)
        parts = [
            self._masked(masks, [self._factor(each, tiles) for each in terms] or [one], tiles)
            for masks, terms in _by_masks(self.plan.products[side].terms).items()
        ]
        made = functools.reduce(jnp.multiply, parts) if parts else one
        return jnp.broadcast_to(made, shape).astype(value.dtype)

    def _masked(self, masks: Sequence[Term], factors: Sequence[Any], tiles: Tiles) -> Any:
        made = functools.reduce(jnp.multiply, factors)
        for each in masks:
            mask = self._factor(each, tiles)
            made = kept(each.kind, mask, jnp.broadcast_to(made, mask.shape))
        return made

    def _factor(self, term: Term, tiles: Tiles) -> Any:
        made, sizes = tiles[term.key], dict(tiles.place.size)
        shift = self.shift
        if term.is_exponential and shift is not None:
            subtracted, _ = tiles.shifts[shift]
            made = jnp.exp(below_zero(made.astype(subtracted.dtype), subtracted))
        return along(term.path, jnp.broadcast_to(made, tile_shape(term.spec, sizes)), sizes)

    def need(self, interval: IntervalOf) -> Any:
        """An exponential is left to its shift, which must not change either."""
        terms = [term for product in self.plan.products for term in product.terms]
        found = [
            interval(term.key) for term in terms if term.kind == "mul" and not term.is_exponential
        ]
        finite = all_of(each.is_finite for each in found)
        masks = any_of(_is_gone(term, interval(term.key)) for term in terms if term.kind != "mul")
        gone = any_of(each.is_zero for each in found) if self.shift is None else True
        return always_if(finite & (gone | masks))


def _by_masks(terms: Sequence[Term]) -> dict[tuple[Term, ...], list[Term]]:
    """What lies under the same masks. What lies under none is not hidden by them if it is no
    number: 0 times NaN is NaN."""
    found: dict[tuple[Term, ...], list[Term]] = {}
    for term in terms:
        if term.kind == "mul":
            found.setdefault(term.masks, []).append(term)
    used = {mask for masks in found for mask in masks}
    bare = tuple(each for each in terms if each.kind != "mul" and each not in used)
    return {**found, bare: []} if bare else found


def _is_gone(mask: Term, found: Interval) -> Any:
    """Is nothing let through?"""
    if mask.kind == "where":
        return found.is_zero
    return found.sound & (found.low == 1)


def kept(kind: str, mask: Any, array: Any) -> Any:
    """Zero where the mask says so."""
    zero = jnp.zeros_like(array)
    return jnp.where(mask, array, zero) if kind == "where" else jnp.where(mask, zero, array)


def spread(node: Node, side: int, array: Any) -> Any:
    """What an operand of a sum has for each element, the summed axes being of one element, in the
    axes of the result."""
    if node.name != "dot_general":
        kept = [d for k, d in enumerate(array.shape) if k not in node.params["axes"]]
        return jnp.reshape(array, kept)
    sides = Sides.of(node)
    order = (*sides.batch[side], *sides.free[side], *sides.contracted[side])
    array = jnp.transpose(array, order)
    batch = array.shape[: len(sides.batch[0])]
    free = array.shape[len(batch) : len(batch) + len(sides.free[side])]
    ones = (1,) * len(sides.free[1 - side])
    return jnp.reshape(array, (*batch, *free, *ones) if side == 0 else (*batch, *ones, *free))
