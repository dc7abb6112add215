"""Tiles are taken where they surely gain: more is asked of them where nothing leaves the cache."""

from __future__ import annotations

import pytest

from orchestrator_core.conductor.cost import on_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.site import Price
from orchestrator_core.conductor.tile.gain import refusal_of

MB = 10**6


@pytest.mark.parametrize(
    ("platform", "was_bytes", "part", "is_taken"),
    [
        ("cpu", 100 * MB, 0.85, True),
        ("cpu", 100 * MB, 0.95, False),
        ("cpu", 10 * MB, 0.85, False),
        ("cpu", 10 * MB, 0.65, False),
        ("cpu", 10 * MB, 0.55, True),
        ("gpu", 10 * MB, 0.85, True),
    ],
)
def test_the_part_of_the_time_that_tiles_may_take(
    platform: str, was_bytes: int, part: float, is_taken: bool
) -> None:
    was, now = Price(1e-2, was_bytes), Price(part * 1e-2, was_bytes // 8)
    with on_device(known_device("H100" if platform == "gpu" else "cpu", platform)):
        assert (refusal_of(was, now, Goal()) == "") is is_taken


def test_memory_is_worth_any_time_to_who_has_not_enough() -> None:
    was, now = Price(1e-2, 10 * MB), Price(3e-2, MB)
    with on_device(known_device("cpu", "cpu")):
        assert refusal_of(was, now, Goal())
        assert not refusal_of(was, now, Goal(memory=5 * MB))
        assert not refusal_of(was, now, Goal(objective="memory"))
