"""Which tiles change nothing, as far as positions tell before the function runs.

The proofs are those of run time, with numbers of usual size in the place of what is not known yet.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orchestrator_core.conductor.facts.axes import ROLES, Role, roles
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.facts.intervals import UNKNOWN, Interval
from orchestrator_core.conductor.facts.intervals.interval import exactly, is_real
from orchestrator_core.conductor.ir.value import Literal, Value
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.recipe import Key, Step, Wanted
from orchestrator_core.conductor.tile.skip import Blocks, intervals

USUAL = 100.0
"""Elements of what is not known yet are thought to be between its inverse and this."""


def gone(one: Pass, size: dict[Role, int], count: dict[Role, int]) -> Any:
    """Which tiles, of (outer tiles, inner tiles)."""
    made = np.full((count[one.outer], count[one.inner]), True)
    blocks = Blocks(dict.fromkeys(ROLES, 0), count, size)
    leaves = {key: usual_interval(key) for key in one.recipe.leaves}
    known = intervals(one.recipe, blocks, one.outer, leaves)

    def interval(wanted: Wanted) -> Interval:
        return exactly(wanted.value) if isinstance(wanted, Literal) else known[wanted]

    for each in one.accumulators:
        made = made & (each.need(interval) < -USUAL)
    return made


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
    not where masks are made of positions alone, and these leave out none."""
    return not _is_by_positions(one) or bool(gone(one, size, counted(one, size)).any())


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
