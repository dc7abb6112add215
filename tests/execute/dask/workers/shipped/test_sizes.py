"""Objects that Dask sees as empty shells are measured with what they hold."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import pytest
from dask.sizeof import sizeof

from orchestrator_core.execute.dask.workers.shipped.sizes import (
    ATTRIBUTES,
    Sizes,
    is_shell,
    real_size,
)


class Box:
    def __init__(self, content: Any) -> None:
        self.content = content


@dataclass
class Pair:
    left: Any
    right: Any


class Honest(Box):
    def __sizeof__(self) -> int:
        return 12_345


class Slotted:
    __slots__ = ("content",)


def test_only_objects_without_a_rule_are_shells() -> None:
    assert is_shell(Box)
    assert is_shell(Pair)
    known = (int, str, list, dict, bytes, type(None), Honest, Slotted, type, type(sys), float)
    assert [kind for kind in known if is_shell(kind)] == []


@pytest.mark.parametrize(
    "output",
    [
        Box(bytes(1_000_000)),
        Box(Box(bytes(1_000_000))),
        Pair(bytes(600_000), Box(bytes(400_000))),
        Pair(Honest(0), bytes(1_000_000)),
    ],
)
def test_what_a_shell_holds_counts(output: object) -> None:
    assert sizeof(output) < 1_000
    assert 1_000_000 <= real_size(output) < 1_020_000


def test_what_is_held_twice_counts_once() -> None:
    content = bytes(1_000_000)
    assert real_size(Pair(content, Box(content))) < 1_010_000
    loop = Box(None)
    loop.content = loop
    assert real_size(loop) == sizeof(loop)


def test_large_structures_are_not_followed_to_their_end() -> None:
    chain = Box(bytes(1_000_000))
    for _ in range(ATTRIBUTES + 1):
        chain = Box(chain)
    assert real_size(chain) < 100_000


class Slow(Box):
    """Takes as long to be measured as it says, by a clock of its own."""

    now = 0.0

    def __init__(self, nbytes: int, seconds: float) -> None:
        super().__init__(Measured(nbytes, seconds))


class Measured:
    def __init__(self, nbytes: int, seconds: float) -> None:
        self.nbytes, self.seconds = nbytes, seconds

    def __sizeof__(self) -> int:
        Slow.now += self.seconds
        return self.nbytes


def test_what_takes_long_to_measure_is_measured_now_and_then() -> None:
    """A worker's event loop does it: it stood still for two seconds after each wide table. One
    second of it is a hundredth of the next hundred."""
    Slow.now = 0.0
    sizes = Sizes(lambda: Slow.now)
    assert 1e6 <= sizes.of(Slow(1_000_000, 1.0)) < 1.01e6
    Slow.now = 50.0
    assert 1e6 <= sizes.of(Slow(5_000_000, 1.0)) < 1.01e6, "as large as the last one"
    assert Slow.now == 50.0
    assert 3e6 <= sizes.of(Box(bytes(3_000_000))) < 3.01e6, "of another type"
    Slow.now = 101.0
    assert 5e6 <= sizes.of(Slow(5_000_000, 1.0)) < 5.01e6


def test_what_is_measured_soon_always_is() -> None:
    Slow.now = 0.0
    sizes = Sizes(lambda: Slow.now)
    for nbytes in (1_000_000, 2_000_000, 3_000_000):
        assert nbytes <= sizes.of(Slow(nbytes, 0.005)) < 1.01 * nbytes
