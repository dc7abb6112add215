"""Passes whose sums overflow only where the whole sum does, in whatever order it is taken.

The sum of 3e38, 3e38 and -3e38 is infinite or not, as it is ordered, and tiles have an order of
their own. So where a sum is not finite it is taken once more, of numbers made smaller by a power of
two.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.facts.axes import Role, full_shape
from orchestrator_core.conductor.tile.accumulators import Accumulator, Reduced
from orchestrator_core.conductor.tile.cumulative.aligned import aligned
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.sizes import even, uniform

SMALLER = 2.0**-24

BYTES = 4
"""Of an element, about."""


def careful(runner: Runner) -> Callable[[Sequence[Any]], list[Any]]:
    """What runs a pass."""
    sums = [k for k, each in enumerate(runner.accumulators) if _may_overflow(each)]
    if not sums:
        return runner
    again = [_Again(runner, places) for places in _together(runner, sums)]

    def run(values: Sequence[Any]) -> list[Any]:
        state = runner(values)
        # One after another, so that no two of them are there twice.
        for each in again:
            each(state, values)
        return state

    return run


def _may_overflow(each: Accumulator) -> bool:
    return isinstance(each, Reduced) and each.may_overflow


def _together(runner: Runner, sums: Iterable[int]) -> list[list[int]]:
    """Sums that are taken once more in one walk over the tiles, which is code to be compiled: no
    more of them than a tile has bytes, or the largest sum, since they are there twice."""
    accumulators = runner.accumulators
    nbytes = {k: math.prod(full_shape(accumulators[k].spec)) * BYTES for k in sums}
    most = max(runner.one.largest(runner.size) * BYTES, *nbytes.values())
    groups: list[list[int]] = []
    for k in sorted(sums, key=nbytes.__getitem__):
        if not groups or sum(nbytes[each] for each in groups[-1]) + nbytes[k] > most:
            groups.append([])
        groups[-1].append(k)
    return groups


class _Again:
    """Sums of a pass taken once more, if one of them is not finite."""

    def __init__(self, runner: Runner, places: Sequence[int]) -> None:
        """`places`: of the sums among the accumulators."""
        sums = (runner.accumulators[k] for k in places)
        smaller = tuple(
            dataclasses.replace(each, scale=SMALLER) for each in sums if isinstance(each, Reduced)
        )
        one = dataclasses.replace(runner.one, shifts=(), others=smaller)
        self._places, self._alone = places, plain_runner(one, runner.size)
        values = runner.one.recipe.values
        self._read = [values.index(value) for value in self._alone.one.recipe.values]

    def __call__(self, state: list[Any], values: Sequence[Any]) -> None:
        """Puts what it mends into the state."""
        first, given = [state[k] for k in self._places], [values[k] for k in self._read]
        is_finite = functools.reduce(jnp.logical_and, (jnp.isfinite(each).all() for each in first))
        made = lax.cond(is_finite, _kept, self._mended, first, given)
        for k, each in zip(self._places, made, strict=True):
            state[k] = each

    def _mended(self, first: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        return list(map(_mended, first, self._alone(given)))


def _mended(first: Any, smaller: Any) -> Any:
    # It is NaN where an infinity met what is too small for the type, which the first did not.
    stays = jnp.isfinite(first) | jnp.isnan(smaller)
    return jnp.where(stays, first, smaller / SMALLER)


def _kept(first: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    return list(first)


def plain_runner(one: Pass, size: dict[Role, int]) -> Runner:
    """All tiles are visited; they are of one size, or if none shares elements with another, if the
    axes can be cut so, unless numbers in them are compared with those of other passes."""
    if one.compares:
        return Runner(one, size, False, rare=True)
    if one.runnings:
        sizes = {role: even(one.length[role], most) for role, most in size.items()}
        return Runner(one, aligned(one, sizes), False, rare=True)
    size = size if one.shares else uniform(one.length, size, one.inner)
    return Runner(one, size, False, rare=True)
