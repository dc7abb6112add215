"""The test by ranks: finds a shift, is not fooled by heavy tails, and keeps its promise."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.learn.ranks import rank_score


def test_it_is_wilcoxons_statistic_in_one_stratum() -> None:
    """Ranks of ours: 1, 2, 4 of 6; expected sum 10.5, variance 3 * 3 * 7 / 12 = 5.25."""
    values = np.array([0.1, 0.2, 7.0, 0.3, 8.0, 9.0])
    ours = np.array([True, True, True, False, False, False])
    score = rank_score(values, np.zeros(6, dtype=np.int64), ours)
    assert score == pytest.approx((1 + 2 + 4 - 10.5) / np.sqrt(5.25))


def test_strata_are_compared_within_only() -> None:
    """Ours are the larger of each pair; over all pairs together they are the smaller ones."""
    values = np.array([2.0, 1.0, 200.0, 100.0, 2.0, 1.0])
    pair = np.array([0, 0, 7, 7, 3, 3])
    ours = np.array([True, False, True, False, True, False])
    assert rank_score(values, pair, ours) == pytest.approx(np.sqrt(3))


def test_one_huge_value_says_no_more_than_a_large_one() -> None:
    values, ours = np.arange(20.0), np.arange(20) % 2 == 0
    ours[19] = True
    stratum = np.zeros(20, dtype=np.int64)
    before = rank_score(values, stratum, ours)
    values[19] = 1e9
    assert rank_score(values, stratum, ours) == before


def test_equal_values_and_strata_of_one_side_say_nothing() -> None:
    same, stratum = np.ones(6), np.array([0, 0, 0, 0, 1, 2])
    assert rank_score(same, stratum, np.array([True, True, False, False, True, False])) == 0.0
    assert rank_score(np.arange(6.0), np.arange(6), np.arange(6) < 3) == 0.0


def test_without_a_difference_it_is_about_normal() -> None:
    """Bimodal values in strata of several sizes: mean 0, deviation 1."""
    rng = np.random.default_rng(0)
    scores = []
    for _ in range(400):
        values = np.where(rng.random(60) < 0.3, 100.0, 1.0) * np.exp(rng.normal(0, 0.1, 60))
        scores.append(rank_score(values, np.sort(rng.integers(0, 5, 60)), rng.random(60) < 0.3))
    assert np.mean(scores) == pytest.approx(0.0, abs=0.15)
    assert np.std(scores) == pytest.approx(1.0, abs=0.1)
