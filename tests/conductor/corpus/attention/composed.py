"""Spellings composed of a layout, a mask and a softmax: one unusual part at a time, and pairs."""

from __future__ import annotations

import itertools
from typing import Any

from jax import Array

from tests.conductor.corpus.attention.layouts import LAYOUTS, Layout
from tests.conductor.corpus.attention.masks import MASKS, Mask
from tests.conductor.corpus.attention.softmaxes import DIVIDED_LAST, SOFTMAXES, Softmax
from tests.conductor.corpus.case import Case, normal


def spelled(layout: Layout, mask: Mask, softmax: Softmax) -> Case:
    """Attention of q, k, v, and of the arrays that the mask takes."""

    def function(q: Array, k: Array, v: Array, *arrays: Array) -> Array:
        s = layout.scores(q, k) * q.shape[-1] ** -0.5
        s = mask.apply(s, layout.place, *_lengths(layout), *arrays)
        return softmax.mean(s, layout.axis, lambda p: layout.output(p, v))

    def arguments() -> tuple[Any, ...]:
        q, k, v = (normal(*shape, seed=n) for n, shape in enumerate(layout.shapes))
        return q, k, v, *mask.arrays(*_lengths(layout))

    return Case(
        " | ".join(part.name for part in (layout, mask, softmax)),
        function,
        arguments,
        large=min(_lengths(layout)),
        is_tiled=True,
        moving=(0, 1, 2, *(3 + each for each in mask.moving)),
    )


def _lengths(layout: Layout) -> tuple[int, int]:
    """Of queries and keys: the largest axes."""
    return max(layout.shapes[0]), max(layout.shapes[1])


def _composed() -> list[Case]:
    layout, mask, softmax = LAYOUTS[0], MASKS[1], SOFTMAXES[0]
    return [
        *(spelled(each, mask, softmax) for each in LAYOUTS),
        *(spelled(layout, each, softmax) for each in MASKS if each is not mask),
        *(spelled(layout, mask, each) for each in (*SOFTMAXES[1:], *DIVIDED_LAST)),
    ]


def _paired() -> list[Case]:
    """Every layout with some masks and softmaxes, so that most pairs of them occur once."""
    turns = itertools.product(range(len(LAYOUTS)), range(4))
    made = []
    for a, turn in turns:
        mask = MASKS[(a * 5 + turn * 7 + 3) % len(MASKS)]
        softmax = SOFTMAXES[(a * 3 + turn * 5 + 1) % len(SOFTMAXES)]
        if mask.is_shared or LAYOUTS[a].is_whole:
            made.append(spelled(LAYOUTS[a], mask, softmax))
    return made


COMPOSED = _composed()

PAIRED = _paired()
"""More of them, for the whole run alone."""
