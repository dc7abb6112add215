"""Ends of what a pass is given, looked at one row of tiles after the other."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.facts.axes import Spec, full_shape
from orchestrator_core.conductor.facts.intervals import Interval
from orchestrator_core.conductor.tile import leaf
from orchestrator_core.conductor.tile.blocks import Blocks, Segment

EVEN = Blocks.even({"i": 3, "j": 4}, {"i": 8, "j": 5})
ODD = Blocks(
    {
        "i": (Segment(0, 2, 9), Segment(18, 1, 6)),
        "j": (Segment(0, 3, 6), Segment(18, 1, 2)),
    }
)
SHARED = Blocks({"i": (Segment(0, 3, 9, shared=3),), "j": (Segment(0, 4, 6, shared=4),)})
ROWS, COLUMNS = ((24, "i"),), ((20, "j"),)
SPECS: dict[str, Spec] = {
    "pairs": (ROWS, COLUMNS),
    "turned": (COLUMNS, ROWS),
    "of heads": (((2, None),), ROWS, COLUMNS),
    "heads last": (ROWS, COLUMNS, ((3, None),)),
    "heads within": (((2, None), (24, "i")), COLUMNS),
    "within tiles": (((24, "i"), (2, None)), ((3, None), (20, "j"))),
    "in one axis": (((24, "i"), (20, "j")),),
}


def numbers(spec: Spec, dtype: Any) -> Any:
    shape = full_shape(spec)
    made = np.random.default_rng(0).normal(size=shape) * 100
    if dtype == np.bool_:
        return jnp.asarray(made > -150)
    if np.issubdtype(dtype, np.floating):
        flat = made.reshape(-1)
        flat[[3, 100]] = np.nan
        flat[[50, 200]] = np.inf, -np.inf
    return jnp.asarray(made.astype(dtype))


CASES = [
    *((spec, np.float32) for spec in SPECS),
    ("heads within", np.int32),
    ("turned", np.bool_),
]


def in_both_ways(
    array: Any, spec: Spec, blocks: Blocks, outer: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[Interval, Interval]:
    """Row by row, and all at once."""
    at_once = leaf.interval_of_leaf(array, spec, blocks, outer)
    monkeypatch.setattr(leaf, "AT_ONCE", 0)
    return leaf.interval_of_leaf(array, spec, blocks, outer, by_rows=True), at_once


@pytest.mark.parametrize(("blocks", "outer"), [(EVEN, "i"), (ODD, "j")], ids=["even", "odd"])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_rows_have_the_ends_of_all_at_once(
    blocks: Blocks, outer: str, name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = SPECS[name]
    by_rows, at_once = in_both_ways(numbers(spec, dtype), spec, blocks, outer, monkeypatch)
    shape = (blocks.count(outer), blocks.count("ij".replace(outer, "")))
    for which in ("low", "high", "sound"):
        here, there = getattr(by_rows, which), getattr(at_once, which)
        assert here.shape == shape
        np.testing.assert_array_equal(here, jnp.broadcast_to(there, shape))


TOPS, COLUMN_LIMITS = [(0, 9), (9, 18)], [(0, 6), (6, 12), (12, 18), (18, 20)]


@pytest.mark.parametrize(
    ("blocks", "last"),
    [(ODD, {"rows": 18, "at once": 18}), (SHARED, {"rows": 15, "at once": 18})],
    ids=["odd", "shared"],
)
def test_ends_are_those_of_the_blocks(
    blocks: Blocks, last: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against NumPy, block for block. What two blocks share belongs to the first; row by row, to
    both rows."""
    array = numbers(SPECS["pairs"], np.float32) + 1000  # what fills a block up is not among them
    ways = in_both_ways(array, SPECS["pairs"], blocks, "i", monkeypatch)
    for found, top in zip(ways, last.values(), strict=True):
        for r, rows in enumerate([*TOPS, (top, 24)]):
            for c, columns in enumerate(COLUMN_LIMITS):
                block = np.asarray(array)[slice(*rows), slice(*columns)]
                assert found.sound[r, c] == (not np.isnan(block).any())
                if found.sound[r, c]:
                    assert (found.low[r, c], found.high[r, c]) == (block.min(), block.max())
