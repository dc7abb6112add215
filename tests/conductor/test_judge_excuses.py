"""What excuses a difference, as an original that is itself inexact, hides nothing wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np
import pytest

from tests.conductor.corpus.judge import judged

Array = np.ndarray
RANDOM = np.random.default_rng(0)
EXACT = RANDOM.normal(size=(12, 4))
PLAIN = EXACT.astype(np.float32)
MOST = float(np.finfo(np.float32).max)


def is_right(
    ours: Array,
    theirs: Array,
    exact: Array,
    shaken: Sequence[Array] = (),
    strict: bool = False,
    beside: float = 0.0,
) -> bool:
    """`beside`: another result, which all agree on."""
    more = np.float32(beside)
    shakes = [[each, more] for each in shaken]
    return judged(
        [ours, more], [theirs, more], lambda: [exact, more], strict, lambda: shakes
    ).is_right


def noisy(scale: float, seed: int) -> Array:
    """The right result with an error of about that size in each number."""
    random = np.random.default_rng(seed)
    return (EXACT + scale * random.uniform(-1, 1, EXACT.shape)).astype(np.float32)


WRONG: dict[str, Callable[[Array], Array]] = {
    "twice": lambda a: 2 * a,
    "half": lambda a: a / 2,
    "nothing": lambda a: 0 * a,
    "the other sign": lambda a: -a,
    "one row twice": lambda a: np.where(np.arange(len(a))[:, None] == 5, 2 * a, a),
    "one row nothing": lambda a: np.where(np.arange(len(a))[:, None] == 5, 0 * a, a),
    "rows exchanged": lambda a: a[::-1],
    "nan": lambda a: np.where(np.arange(a.size).reshape(a.shape) == 7, np.nan, a).astype(a.dtype),
    "inf": lambda a: np.where(np.arange(a.size).reshape(a.shape) == 7, np.inf, a).astype(a.dtype),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("strict", [False, True])
def test_an_inexact_original_does_not_excuse(name: str, strict: bool) -> None:
    theirs = noisy(1e-2, 1)
    assert is_right(noisy(1e-2, 2), theirs, EXACT)
    assert not is_right(WRONG[name](theirs), theirs, EXACT, strict=strict)


@pytest.mark.parametrize("name", WRONG)
def test_shaken_arguments_do_not_excuse(name: str) -> None:
    """The last digits move each number by a hundredth."""
    shaken = [noisy(1e-2, seed) for seed in (1, 2, 3)]
    assert is_right(noisy(1e-2, 4), PLAIN, EXACT, shaken)
    assert not is_right(WRONG[name](PLAIN), PLAIN, EXACT, shaken)


@pytest.mark.parametrize("name", WRONG)
def test_a_very_large_row_hides_nothing_in_others(name: str) -> None:
    large = np.where(np.arange(12)[:, None] == 2, 1e30, 1.0)
    theirs = (EXACT * large).astype(np.float32)
    assert not is_right(WRONG[name](PLAIN) * large.astype(np.float32), theirs, EXACT * large)


@pytest.mark.parametrize("name", WRONG)
def test_a_large_result_hides_nothing_in_a_gradient_that_is_small(name: str) -> None:
    small = (EXACT * 1e-20).astype(np.float32)
    assert is_right(small, small, EXACT * 1e-20, beside=1.0)
    assert not is_right(WRONG[name](small), small, EXACT * 1e-20, beside=1.0)


def test_rounding_of_a_large_result_is_seen_where_nothing_else_is_left() -> None:
    """A derivative that is zero, but for the last digits of what cancels."""
    exact, theirs = np.zeros((12, 4)), np.zeros((12, 4), np.float32)
    assert is_right((PLAIN * 1e-8).astype(np.float32), theirs, exact, beside=1.0)
    assert not is_right((PLAIN * 1e-4).astype(np.float32), theirs, exact, beside=1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_overflows_once_shaken_does_not_excuse_all(bad: float) -> None:
    """Nothing but what the original is there, or nearly is, will do."""
    theirs, over = PLAIN.copy(), PLAIN.copy()
    theirs[3, 1], over[3, 1] = 0.5, bad
    exact = theirs.astype(np.float64)
    for wrong in (np.nan, -0.5, 1.0, 0.0):
        ours = theirs.copy()
        ours[3, 1] = wrong
        assert not is_right(ours, theirs, exact, [over])


def test_what_is_as_good_as_the_largest_number_may_be_infinite_of_the_same_sign() -> None:
    theirs, exact = PLAIN.copy(), EXACT.copy()
    theirs[3, 1], exact[3, 1] = MOST, MOST * (1 + 1e-7)
    ours = theirs.copy()
    for value, right in ((np.inf, True), (-np.inf, False), (np.nan, False), (MOST / 2, False)):
        ours[3, 1] = value
        assert is_right(ours, theirs, exact) is right
    theirs[3, 1], exact[3, 1], ours[3, 1] = MOST / 2, MOST / 2, np.inf
    assert not is_right(ours, theirs, exact)


def test_a_sum_that_overflows_to_nan_may_be_infinite_and_nothing_else() -> None:
    theirs, exact = PLAIN.copy(), EXACT.copy()
    theirs[3, 1], exact[3, 1] = np.nan, -MOST / 4
    ours = theirs.copy()
    for value, right in ((np.inf, True), (-np.inf, True), (0.0, False), (MOST, False)):
        ours[3, 1] = value
        assert is_right(ours, theirs, exact, strict=True) is right
    ours[3, 1], exact[3, 1] = np.inf, 0.25
    assert not is_right(ours, theirs, exact)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize("name", WRONG)
def test_narrow_types_excuse_their_rounding_alone(dtype: type, name: str) -> None:
    theirs = EXACT.astype(dtype)
    assert is_right(theirs * np.asarray(1.002, dtype), theirs, EXACT)
    assert not is_right(WRONG[name](theirs), theirs, EXACT)


def test_complex_numbers_are_judged_by_both_parts() -> None:
    theirs = (PLAIN + 1j * PLAIN[::-1]).astype(np.complex64)
    assert judged([theirs], [theirs], lambda: [theirs]).is_right
    assert not judged([theirs.conj()], [theirs], lambda: [theirs]).is_right
