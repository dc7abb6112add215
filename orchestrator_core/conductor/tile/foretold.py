"""Which tiles change nothing, as far as positions tell before the function runs.

The proofs are those of run time, with numbers of usual size in the place of what is not known yet.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.axes import ROLES, Role, roles
from orchestrator_core.conductor.facts.dataflow import EQUALITIES, Dataflow
from orchestrator_core.conductor.facts.intervals import UNKNOWN, Interval
from orchestrator_core.conductor.facts.intervals.interval import exactly, is_real
from orchestrator_core.conductor.ir.value import Literal, Value
from orchestrator_core.conductor.tile.blocks import Blocks
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.recipe import Key, Step, Wanted
from orchestrator_core.conductor.tile.skip import interval_of_literal, intervals, of_step

USUAL = 100.0
"""Elements of what is not known yet are thought to be between its inverse and this."""

LITTLE = Interval(0.01, 0.02, True)
"""Where it is asked what could be at best: of such numbers no exponential overflows."""

FAR = 1e4
"""What is further from zero is there to be masked."""

COMPARISONS = frozenset({"lt", "le", "gt", "ge", *EQUALITIES})


def gone(one: Pass, size: dict[Role, int], count: dict[Role, int]) -> Any:
    """Which tiles, of (outer tiles, inner tiles)."""
    found = list(_gone_in_strips(one, Blocks.even(count, size)))
    return np.concatenate(found) if found else np.zeros((0, count[one.inner]), bool)


def _gone_in_strips(one: Pass, blocks: Blocks) -> Iterator[Any]:
    """Which tiles, some rows of them after the others."""
    leaves = {key: usual_interval(key) for key in one.recipe.leaves}
    for strip in blocks.strips(one.outer):
        known = intervals(one.recipe, strip, one.outer, leaves)
        shape = strip.count(one.outer), strip.count(one.inner)
        yield np.broadcast_to(_left_out(one, known), shape)


def _left_out(one: Pass, known: Mapping[Key, Interval]) -> Any:
    """Of which tiles nothing counts, of values with these intervals."""

    def interval(wanted: Wanted) -> Interval:
        return interval_of_literal(wanted) if isinstance(wanted, Literal) else known[wanted]

    needs = [each.need(interval) < -USUAL for each in one.accumulators]
    return functools.reduce(np.logical_and, needs)


def counted(one: Pass, size: dict[Role, int]) -> dict[Role, int]:
    """Of how many tiles of a size each axis is."""
    return {role: math.ceil(one.length[role] / size[role]) for role in ROLES}


def usual_interval(key: Key) -> Interval:
    value: Value = key[0]
    if not is_real(value.dtype):
        return UNKNOWN
    low, high = (0.0, 1.0) if value.dtype == np.bool_ else (1 / USUAL, USUAL)
    return Interval(np.asarray(low), np.asarray(high), np.bool_(True))


def may_gain(one: Pass, size: dict[Role, int]) -> bool:
    """May proofs at run time leave tiles out? They are thousands of operations for a compiler, so
    not where masks are made of positions alone, and these leave out none, nor where a tile would
    count whatever its masks are."""
    if _is_by_positions(one):
        blocks = Blocks.even(counted(one, size), size)
        return any(each.any() for each in _gone_in_strips(one, blocks))
    return is_ever_gone(one, size)


def is_ever_gone(one: Pass, size: dict[Role, int]) -> bool:
    """Is there a tile that changes nothing, if it is masked by all that could mask it?"""
    choices = itertools.product((0.0, 1.0), (0.0, -np.inf), (LITTLE, exactly(FAR)))
    return any(_would_be_gone(one, size, *each) for each in choices)


def _would_be_gone(
    one: Pass, size: dict[Role, int], flag: float, number: float, alike: Interval
) -> bool:
    """If what is compared has this outcome, and pairs are given as this number; `alike`: what is
    the same in all tiles."""
    blocks = Blocks.even(counted(one, size), size)
    known = {key: _given_as(key, flag, number, alike) for key in one.recipe.leaves}

    def interval(wanted: Wanted) -> Interval:
        return interval_of_literal(wanted) if isinstance(wanted, Literal) else known[wanted]

    with np.errstate(all="ignore"):
        for step in one.recipe.steps:
            masked = _masked(step, flag, interval) if roles(step.spec) else None
            known[step.made] = masked or of_step(step, blocks, one.outer, known)
        return bool(np.any(_left_out(one, known)))


def _given_as(key: Key, flag: float, number: float, alike: Interval) -> Interval:
    value, spec = key
    if not is_real(value.dtype):
        return UNKNOWN
    if not roles(spec):
        return alike
    if jnp.issubdtype(value.dtype, jnp.floating):
        return exactly(number) if len(roles(spec)) == 2 else LITTLE
    return exactly(flag) if value.dtype == np.bool_ or len(roles(spec)) == 2 else LITTLE


def _masked(step: Step, flag: float, interval: Callable[[Wanted], Interval]) -> Interval | None:
    """Of what masks; None of other operations. That two numbers are equal is proven of no
    tile but of one whose numbers are all the same."""
    name, inputs = step.node.name, step.inputs
    if name in COMPARISONS:
        first = inputs[0]
        dtype = first.dtype if isinstance(first, Literal) else first[0].dtype
        is_number = jnp.issubdtype(dtype, jnp.floating)
        return Interval(0.0, 1.0, True) if is_number and name in EQUALITIES else exactly(flag)
    if name != "select_n" or not _is_exact(interval(inputs[0])):
        return None
    cases = [interval(each) for each in inputs[1:]]
    return next((x for masks in (_is_far, _is_zero, _is_exact) for x in cases if masks(x)), None)


def _is_exact(given: Interval) -> bool:
    return bool(np.all(given.sound) and np.all(given.low == given.high))


def _is_zero(given: Interval) -> bool:
    return bool(np.all(given.is_zero))


def _is_far(given: Interval) -> bool:
    """Is it further from zero than numbers of usual size?"""
    least = np.where(given.low * given.high > 0, np.minimum(abs(given.low), abs(given.high)), 0)
    return bool(np.all(given.sound) and np.all(least > FAR))


def _is_by_positions(one: Pass) -> bool:
    """Does nothing that is given make a mask, and nothing of positions more than a mask?"""
    if any(len(roles(spec)) == 2 for _, spec in one.recipe.leaves):
        return False
    pairs = [step for step in one.recipe.steps if len(roles(step.spec)) == 2]
    return all(_masks_by_positions(step, one.flow) for step in pairs)


def _masks_by_positions(step: Step, flow: Dataflow) -> bool:
    if flow.is_cheap(step.made[0]):
        return True
    if step.node.name == "select_n":
        mask, *cases = step.inputs
        return _is_cheap(mask, flow) and all(_is_cheap(x, flow) or _is_pair(x) for x in cases)
    return not any(_is_pair(each) and _is_cheap(each, flow) for each in step.inputs)


def _is_pair(wanted: Wanted) -> bool:
    return not isinstance(wanted, Literal) and len(roles(wanted[1])) == 2


def _is_cheap(wanted: Wanted, flow: Dataflow) -> bool:
    return isinstance(wanted, Literal) or flow.is_cheap(wanted[0])
