"""Dear looks at one case: whether whole tasks fit, where parts of them do (stage 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from orchestrator_core.plan.bounds.leaf import Leaf
from orchestrator_core.plan.bounds.packing import packed
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import ROUNDING
from orchestrator_core.plan.bounds.windows import fit

TRIALS, SELDOM = 24, 8
"""So many looks are taken in any tree, and further ones while one in so many is of use."""

ROUGHLY, FEW = 1e-3, 4
"""Accuracy and rounds of a program whose room is measured anew after it."""

FURTHER = 0.9
"""How far beyond what a guess has proven the next one is, in parts of its rise. What is proven by
what was proven before comes about half as far each time."""

ON = 0.25
"""Part of the way to a limit within which whole tasks may fit, at which the next limit is."""

WORTH_WHILE = 5e-4
"""Relative rise of a bound after which another look is taken."""

WORTH_GUESSING = 1e-4
"""Relative: nearer to what is proven no guess is made."""

Raises = Callable[[Relaxation, Leaf, int], Iterator[None]]
"""Raises a leaf's value, a step for each limit or guess, of which there are so many at most."""


class Look:
    """A look at one case after the other, as long as that is of use now and then."""

    def __init__(self, raises: Raises, tries: int) -> None:
        self._raises, self._tries = raises, tries
        self._taken = self._of_use = 0

    def at(self, relaxation: Relaxation, leaf: Leaf) -> Iterator[None]:
        """Raise the leaf's value, if it can; another look at it is the next kind, unless this one
        was worth while."""
        before = leaf.value
        if self._taken < TRIALS or self._of_use * SELDOM >= self._taken:
            yield from self._raises(relaxation, leaf, self._tries)
            self._taken += 1
            self._of_use += leaf.value > before
        leaf.looks += leaf.value <= before * (1 + WORTH_WHILE)


def count(relaxation: Relaxation, leaf: Leaf, tries: int) -> Iterator[None]:
    """Raise a leaf's value by windows that are rounded to whole tasks, a step for each guess: since
    room is measured by it, what is proven leads to more, about half as much again each time."""
    state = leaf.state
    if state is None:
        return
    tasks, guess = np.arange(len(state.may)), leaf.value
    for _ in range(tries):
        if not 0 < leaf.value < state.upper * (1 - ROUNDING):
            return
        claims = fit(
            relaxation, state, tasks, guess, state.upper, leaf.claims, ROUGHLY, FEW, whole=True
        )
        if leaf.take(claims, state.upper):
            guess = min(state.upper, leaf.value + FURTHER * (leaf.value - guess))
        else:
            guess = 0.5 * (leaf.value + guess)
        yield
        if guess < leaf.value * (1 + WORTH_GUESSING):
            return


def pack(relaxation: Relaxation, leaf: Leaf, tries: int) -> Iterator[None]:
    """Raise a leaf's value to limits within which whole tasks do not fit: first to the makespan
    that is to be beaten, then, a step each, part of the way from what is proven to what failed."""
    state = leaf.state
    if state is None:
        return
    for _ in range(tries):
        high = min(state.upper, leaf.fits)
        limit = high if leaf.fits == np.inf else leaf.value + ON * (high - leaf.value)
        if not 0 < leaf.value < limit * (1 - ROUNDING):
            return
        packing = packed(relaxation, state, leaf.claims, limit)
        if packing is None:
            leaf.fits = limit
        else:
            leaf.value, leaf.packing = limit, packing
        yield
