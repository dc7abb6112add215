"""The judge of the corpus finds what is wrong, and lets pass what is nearer to the exact value."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conductor.corpus.judge import judged

RIGHT = np.linspace(-1, 1, 20, dtype=np.float32)


def with_(array: np.ndarray, at: int, value: float) -> np.ndarray:
    array = array.copy()
    array[at] = value
    return array


def is_right(ours: np.ndarray, theirs: np.ndarray, exact: np.ndarray, strict: bool = False) -> bool:
    return judged([ours], [theirs], lambda: [exact], strict).is_right


@pytest.mark.parametrize("value", [0.5, np.nan, np.inf, -np.inf])
def test_one_wrong_number_is_found(value: float) -> None:
    assert not is_right(with_(RIGHT, 3, value), RIGHT, RIGHT.astype(np.float64))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_so(value: float) -> None:
    theirs = with_(RIGHT, 3, value)
    assert is_right(theirs, theirs, theirs.astype(np.float64))
    assert not is_right(RIGHT, theirs, theirs.astype(np.float64))


def test_rounding_is_allowed() -> None:
    assert is_right(RIGHT + np.float32(1e-6), RIGHT, RIGHT.astype(np.float64))
    assert not is_right(RIGHT + np.float32(1e-3), RIGHT, RIGHT.astype(np.float64))


def test_the_exact_value_excuses_a_difference_unless_strict() -> None:
    theirs = with_(RIGHT, 3, np.nan)
    assert is_right(RIGHT, theirs, RIGHT.astype(np.float64))
    assert not is_right(RIGHT, theirs, RIGHT.astype(np.float64), strict=True)
    assert not is_right(with_(RIGHT, 3, 0.9), theirs, RIGHT.astype(np.float64))


def test_moving_away_from_the_exact_value_is_wrong() -> None:
    theirs = with_(RIGHT, 3, 0.1)
    assert not is_right(with_(RIGHT, 3, 0.9), theirs, with_(RIGHT, 3, 0.15).astype(np.float64))


def test_types_shapes_and_trees_are_compared() -> None:
    assert not is_right(RIGHT.astype(np.float16), RIGHT, RIGHT.astype(np.float64))
    assert not is_right(RIGHT[:, None], RIGHT, RIGHT.astype(np.float64))
    assert not judged([RIGHT, RIGHT], [RIGHT], lambda: [RIGHT]).is_right
    assert not is_right(np.arange(3), np.array([0, 1, 3]), np.array([0, 1, 3]))
