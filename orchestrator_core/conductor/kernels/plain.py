"""Which tiles of a row no mask cuts, found while planning, and what is done with those.

A causal mask lets through all of a tile or nothing, but for the tiles on the diagonal. So nothing
is compared and selected in the others, as in Dao, "FlashAttention-2" (2023).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator_core.conductor.facts.axes import Role
from orchestrator_core.conductor.facts.intervals import UNKNOWN, Interval
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Literal, Value
from orchestrator_core.conductor.kernels.live import Watch, counts, full_tiles
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.recipe import Key, Recipe, Step
from orchestrator_core.conductor.tile.skip import intervals

LEAST = 0.25
"""The part of the tiles that matter for which a second program is worth it."""

Choices = Mapping[Key, int]
"""By what a selection makes: which operand it takes."""


@dataclass(frozen=True)
class Plain:
    """Attributes:
    bounds: (2, rows) of each row the first tile that no mask cuts, and the one after the last.
    recipe: what is done with these.
    """

    bounds: Any
    recipe: Recipe


def plain_of(side: Pass, size: Mapping[Role, int], watch: Watch | None) -> Plain | None:
    """None if there are not many such tiles."""
    blocks = full_tiles(side, size)
    shape = blocks.count(side.outer), blocks.count(side.inner)
    if not all(shape):
        return None
    live = np.ones(shape, bool) if watch is None else ~watch.dead
    known = intervals(side.recipe, blocks, side.outer, dict.fromkeys(side.recipe.leaves, UNKNOWN))
    found = {step.made: _taken(step, known, shape) for step in side.recipe.steps}
    taken = {made: each for made, each in found.items() if each is not None}
    usual = {made: _usual(found, live) for made, found in taken.items()}
    choices = {made: choice for made, choice in usual.items() if choice is not None}
    if not choices:
        return None
    is_plain = np.all([taken[made] == choice for made, choice in choices.items()], axis=0)
    bounds = _runs(is_plain & live, counts(side, size)[side.outer])
    if (bounds[1] - bounds[0]).sum() < LEAST * live.sum():
        return None
    steps = tuple(_decided(step, choices) for step in side.recipe.steps)
    return Plain(bounds, dataclasses.replace(side.recipe, steps=steps))


def _taken(step: Step, known: Mapping[Key, Interval], shape: tuple[int, int]) -> Any:
    """(rows, columns) which operand a selection takes in a tile, -1 where that differs or is not
    known; None if it is no selection between two arrays."""
    if step.node.name != "select_n" or len(step.inputs) != 3 or isinstance(step.inputs[0], Literal):
        return None
    found = known[step.inputs[0]]
    is_known = np.asarray(found.sound & (found.low == found.high))
    made = np.where(is_known, np.asarray(found.low), -1).astype(int)
    return np.broadcast_to(made, shape)


def _usual(taken: Any, live: Any) -> int | None:
    """The operand that it takes in most tiles."""
    found = [int((live & (taken == choice)).sum()) for choice in (0, 1)]
    return int(np.argmax(found)) if max(found) else None


def _runs(mask: Any, rows: int) -> Any:
    """(2, rows) where the longest run of true elements of each row begins and ends."""
    made = np.zeros((2, rows), np.int32)
    for row, each in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], each.astype(int), [0]])))
        starts, ends = edges[::2], edges[1::2]
        if len(starts):
            longest = int(np.argmax(ends - starts))
            made[:, row] = starts[longest], ends[longest]
    return made


def _decided(step: Step, choices: Choices) -> Step:
    """A selection that is known is what it selects."""
    choice = choices.get(step.made)
    if choice is None:
        return step
    chosen = step.inputs[1 + choice]
    if isinstance(chosen, Literal):
        return step
    (value, _), made = chosen, step.made[0]
    node = Node("copy", (value,), (Value(made.aval),), list)
    return dataclasses.replace(step, node=node, inputs=(chosen,), late=0)
