"""Passes whose sums overflow only where the whole sum does, in whatever order it is taken.

The sum of 3e38, 3e38 and -3e38 is infinite or not, as it is ordered, and tiles have an order of
their own. So where a sum is not finite it is taken once more, of numbers made smaller by a power of
two.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.facts.axes import Role
from orchestrator_core.conductor.tile.accumulators import Reduced
from orchestrator_core.conductor.tile.cumulative.aligned import aligned
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.sizes import even, uniform

SMALLER = 2.0**-24


def careful(runner: Runner) -> Callable[[Sequence[Any]], list[Any]]:
    """What runs a pass."""
    sums = {
        place: _Again(runner, each)
        for place, each in enumerate(runner.accumulators)
        if isinstance(each, Reduced) and each.may_overflow
    }
    if not sums:
        return runner

    def run(values: Sequence[Any]) -> list[Any]:
        state = runner(values)
        # One after another, so that no two of them are there twice.
        for place, again in sums.items():
            state[place] = again(state[place], values)
        return state

    return run


class _Again:
    """A sum of a pass taken once more, if it is not finite."""

    def __init__(self, runner: Runner, reduced: Reduced) -> None:
        alone = (dataclasses.replace(reduced, scale=SMALLER),)
        one = dataclasses.replace(runner.one, shifts=(), others=alone)
        self._alone = plain_runner(one, runner.size)
        values = runner.one.recipe.values
        self._read = [values.index(value) for value in self._alone.one.recipe.values]

    def __call__(self, first: Any, values: Sequence[Any]) -> Any:
        given = [values[k] for k in self._read]
        return lax.cond(jnp.isfinite(first).all(), _kept, self._mended, first, given)

    def _mended(self, first: Any, given: Sequence[Any]) -> Any:
        (smaller,) = self._alone(given)
        # It is NaN where an infinity met what is too small for the type, which the first did not.
        stays = jnp.isfinite(first) | jnp.isnan(smaller)
        return jnp.where(stays, first, smaller / SMALLER)


def _kept(first: Any, given: Sequence[Any]) -> Any:
    return first


def plain_runner(one: Pass, size: dict[Role, int]) -> Runner:
    """All tiles are visited; they are of one size if the axes can be cut so, unless numbers in them
    are compared with those of other passes."""
    if one.compares:
        return Runner(one, size, False)
    if one.runnings:
        sizes = {role: even(one.length[role], most) for role, most in size.items()}
        return Runner(one, aligned(one, sizes), False)
    return Runner(one, uniform(one.length, size, one.inner), False)
