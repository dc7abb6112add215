"""Measured speeds are a hint, and equal hardware is equal whatever it measured."""

from __future__ import annotations

from orchestrator_core.execute.dask.workers.describe import UNKNOWN, Description
from orchestrator_core.execute.dask.workers.speeds import STEP, hinted_speeds


def measured(processor: str, seconds: float | None) -> Description:
    return Description(processor=processor, round_seconds=seconds)


def test_workers_of_equal_hardware_are_equal_however_busy_they_were() -> None:
    said = {f"w{i}": measured("epyc", 0.001 * (1 + i)) for i in range(6)}
    assert set(hinted_speeds(said).values()) == {1.0}


def test_most_workers_have_speed_one_and_others_differ_by_whole_steps() -> None:
    said = {
        "a": measured("xeon", 0.0010),
        "b": measured("xeon", 0.0011),
        "old": measured("atom", 0.0052),
        "new": measured("epyc", 0.00043),
        "alike": measured("opteron", 0.0009),
    }
    speeds = hinted_speeds(said)
    assert (speeds["a"], speeds["b"], speeds["alike"]) == (1.0, 1.0, 1.0)
    assert speeds["old"] == STEP**-4
    assert speeds["new"] == STEP**2


def test_one_disturbed_worker_does_not_speak_for_its_hardware() -> None:
    said = {f"x{i}": measured("xeon", 0.001) for i in range(4)}
    said |= {"e0": measured("epyc", 0.0011), "e1": measured("epyc", 0.0009)}
    said |= {"e2": measured("epyc", 0.09)}
    assert set(hinted_speeds(said).values()) == {1.0}


def test_who_does_not_know_its_hardware_counts_as_usual() -> None:
    said = {
        "a": measured("xeon", 0.001),
        "b": measured("xeon", 0.001),
        "c": measured("epyc", 0.00044),
        "d": UNKNOWN,
        "e": measured("", 0.1),
        "f": measured("power", None),
    }
    speeds = hinted_speeds(said)
    assert speeds == {"a": 1.0, "b": 1.0, "c": STEP**2, "d": 1.0, "e": 1.0, "f": 1.0}


def test_what_owners_declare_beats_what_was_measured() -> None:
    said = {"a": Description(speed=4.0), "b": measured("xeon", 1.0), "c": measured("epyc", 0.1)}
    assert hinted_speeds(said) == {"a": 4.0, "b": 1.0, "c": 1.0}


def test_nobody_said_anything() -> None:
    assert hinted_speeds({}) == {}
    assert hinted_speeds({"a": UNKNOWN}) == {"a": 1.0}
