"""Sizes and times as people type them."""

from __future__ import annotations

import pytest

from orchestrator_core.cli.quantities import parse_bytes, parse_number, parse_seconds
from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.dask.graphs.hints import hint_of
from orchestrator_core.settings.quantities import BYTES, SECONDS


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("8GB", 8e9),
        ("8gb", 8e9),
        ("512MiB", 512 * 2**20),
        ("1.5 kB", 1500.0),
        ("100MB/s", 1e8),
        ("1e9", 1e9),
        ("0", 0.0),
    ],
)
def test_sizes(text: str, nbytes: float) -> None:
    assert parse_bytes(text) == nbytes


@pytest.mark.parametrize(
    ("text", "seconds"), [("1ms", 1e-3), ("0.5s", 0.5), ("2min", 120.0), ("3", 3.0), (".25h", 900)]
)
def test_times(text: str, seconds: float) -> None:
    assert parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", [f"2{unit}" for unit in SECONDS if unit] + ["1.5 h", "10 minutes"])
def test_times_are_said_as_in_hints(text: str) -> None:
    """Dask reads those: what one estimates of a task so, may be the deadline of its flow."""
    assert parse_seconds(text) == pytest.approx(hint_of({"seconds": text}).seconds)


@pytest.mark.parametrize("text", [f"2{unit}" for unit in BYTES if unit] + ["1.5 G", "8Gi"])
def test_sizes_are_said_as_in_hints(text: str) -> None:
    assert parse_bytes(text) == hint_of({"memory": text}).memory


@pytest.mark.parametrize("text", ["", "GB", "8 QB", "-1GB", "nan", "inf", "1e999", "8GB8", "1,5GB"])
def test_what_is_no_size_is_named(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a size such as 8GB") as error:
        parse_bytes(text)
    assert repr(text) in str(error.value)


def test_a_number_has_no_unit() -> None:
    assert parse_number("2.5") == 2.5
    with pytest.raises(InvalidInput, match="is not a number"):
        parse_number("2GB")
