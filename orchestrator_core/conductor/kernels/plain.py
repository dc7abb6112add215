"""Which tiles of a row no mask cuts, found while planning, and what is done with those.

A causal mask lets through all of a tile or nothing, but for the tiles on the diagonal. So nothing
is compared and selected in the others, as in Dao, "FlashAttention-2" (2023).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator_core.conductor.facts.axes import Role
from orchestrator_core.conductor.facts.intervals import UNKNOWN, Interval
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Literal, Value
from orchestrator_core.conductor.kernels.live import Watch, counts, strips
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
    choices = _choices(side, size, watch)
    if not choices:
        return None
    bounds, matter = [], 0
    for live, taken in _in_strips(side, size, watch):
        is_plain = np.all([taken[made] == choice for made, choice in choices.items()], axis=0)
        bounds.append(_runs(is_plain & live))
        matter += int(live.sum())
    whole = np.concatenate(bounds, 1)
    if (whole[1] - whole[0]).sum() < LEAST * matter:
        return None
    sticking_out = counts(side, size)[side.outer] - whole.shape[1]
    steps = tuple(_decided(step, choices) for step in side.recipe.steps)
    recipe = dataclasses.replace(side.recipe, steps=steps)
    return Plain(np.pad(whole, [(0, 0), (0, sticking_out)]), recipe)


def _choices(side: Pass, size: Mapping[Role, int], watch: Watch | None) -> dict[Key, int]:
    """The operand that each selection takes in most tiles, if it is known of any."""
    found = {step.made: [0, 0] for step in side.recipe.steps if _is_selection(step)}
    if not found:
        return {}
    for live, taken in _in_strips(side, size, watch):
        for made, each in taken.items():
            for choice in (0, 1):
                found[made][choice] += int((live & (each == choice)).sum())
    return {made: int(np.argmax(each)) for made, each in found.items() if max(each)}


def _in_strips(
    side: Pass, size: Mapping[Role, int], watch: Watch | None
) -> Iterator[tuple[Any, dict[Key, Any]]]:
    """Of some rows at once: which tiles matter, and what each selection takes in them."""
    leaves = dict.fromkeys(side.recipe.leaves, UNKNOWN)
    selections = [step for step in side.recipe.steps if _is_selection(step)]
    for strip in strips(side, size):
        shape = strip.count(side.outer), strip.count(side.inner)
        known = intervals(side.recipe, strip, side.outer, leaves)
        taken = {step.made: _taken(step, known, shape) for step in selections}
        yield np.ones(shape, bool) if watch is None else watch.live(strip), taken


def _is_selection(step: Step) -> bool:
    """Between two arrays?"""
    is_of_two = step.node.name == "select_n" and len(step.inputs) == 3
    return is_of_two and not isinstance(step.inputs[0], Literal)


def _taken(step: Step, known: Mapping[Key, Interval], shape: tuple[int, int]) -> Any:
    """(rows, columns) which operand a selection takes in a tile, -1 where that differs or is not
    known."""
    condition: Any = step.inputs[0]
    found = known[condition]
    is_known = np.asarray(found.sound & (found.low == found.high))
    made = np.where(is_known, np.asarray(found.low), -1).astype(int)
    return np.broadcast_to(made, shape)


def _runs(mask: Any) -> Any:
    """(2, rows) where the longest run of true elements of each row begins and ends."""
    made = np.zeros((2, len(mask)), np.int32)
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
