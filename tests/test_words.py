"""Figures as people say them."""

from __future__ import annotations

import math

import pytest

from orchestrator_core import words


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0 s"),
        (0.0123, "12 ms"),
        (0.0997, "100 ms"),
        (1.234, "1.23 s"),
        (123.45, "123.5 s"),
        (750.0, "12.5 min"),
        (9000.0, "2.50 h"),
        (None, "–"),
        (math.inf, "–"),
    ],
)
def test_seconds(value: float | None, said: str) -> None:
    assert words.seconds(value) == said


@pytest.mark.parametrize(
    ("nbytes", "said"),
    [
        (0.0, "0 bytes"),
        (7, "7 bytes"),
        (999.9, "1 kB"),
        (1500.0, "1.5 kB"),
        (2.52765e10, "25.3 GB"),
        (999_999_999.0, "1 GB"),
        (1e15, "1 PB"),
        (1e23, "1e+05 EB"),
        (math.inf, "inf EB"),
    ],
)
def test_sizes(nbytes: float, said: str) -> None:
    assert words.size(nbytes) == said


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (1e15, 2.52765e10, ("1 PB", "25.3 GB")),
        (2.5277e10, 2.5276e10, ("25.277 GB", "25.276 GB")),
        (1e9 + 1, 1e9, ("1000000001 bytes", "1000000000 bytes")),
    ],
)
def test_two_sizes_are_told_apart(one: float, other: float, said: tuple[str, str]) -> None:
    assert words.two_sizes(one, other) == said


def test_percent() -> None:
    assert words.percent(0.1234) == "12.3 %"
    assert words.percent(0.1, sign=True) == "+10.0 %"
    assert words.percent(-0.05, sign=True) == "−5.0 %"
    assert words.percent(None) == "–"


def test_what_is_rounded_to_nought_has_no_minus() -> None:
    assert words.percent(-0.0004) == "0.0 %"
    assert words.percent(-0.0004, sign=True) == words.percent(0.0004, sign=True) == "+0.0 %"


@pytest.mark.parametrize(
    ("passed", "said"),
    [(5, "just now"), (300, "5 min ago"), (7200, "2 h ago"), (3 * 86400, "3 days ago")],
)
def test_how_long_ago(passed: float, said: str) -> None:
    assert words.ago(1e9, now=1e9 + passed) == said


def test_long_ago_is_a_date() -> None:
    assert words.ago(1e9, now=2e9).endswith("Sep 2001")


@pytest.mark.parametrize("moment", [-1e30, float("-inf"), float("nan")])
def test_a_moment_that_no_calendar_has_is_a_dash(moment: float) -> None:
    assert words.ago(moment, now=1e9) == "–"


def test_gap() -> None:
    assert words.gap_of(11.0, 10.0) == pytest.approx(0.1)
    assert words.gap_of(10.0, 10.5) == 0.0
    assert words.gap_of(10.0, 0.0) == math.inf
    assert words.gap_of(None, 1.0) is None


def test_plural() -> None:
    assert words.plural(1, "task") == "1 task"
    assert words.plural(1200, "task") == "1,200 tasks"
