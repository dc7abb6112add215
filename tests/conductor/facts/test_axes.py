"""Specs follow axes through reshapes, as products of parts."""

from __future__ import annotations

import pytest

from orchestrator_core.conductor.facts.axes import (
    Untileable,
    full_shape,
    regrouped,
    roles,
    tile_shape,
    without,
)

ROW, COLUMN = (8, "i"), (6, "j")


def test_parts_are_regrouped_and_keep_their_roles() -> None:
    spec = (((4, None), ROW), (COLUMN,))
    assert regrouped(spec, (2, 2, 8, 6)) == (((2, None),), ((2, None),), (ROW,), (COLUMN,))
    assert regrouped(spec, (4, 48)) == (((4, None),), (ROW, COLUMN))
    assert regrouped(spec, (1, 192, 1)) == ((), ((4, None), ROW, COLUMN), ())


def test_a_tiled_part_is_never_cut() -> None:
    with pytest.raises(Untileable):
        regrouped(((ROW,), (COLUMN,)), (2, 4, 6))
    with pytest.raises(Untileable):
        regrouped(((ROW,), (COLUMN,)), (16, 3))


def test_shapes_of_tiles() -> None:
    spec = (((4, None), ROW), (COLUMN,))
    assert roles(spec) == {"i", "j"}
    assert full_shape(spec) == (32, 6)
    assert tile_shape(spec, {"i": 2, "j": 3}) == (8, 3)
    assert tile_shape(without(spec, "i"), {"i": 2, "j": 3}) == (4, 3)
