"""What durations say about a run: by kind, by worker, and how much a few of them are believed."""

from __future__ import annotations

import math

import pytest

from orchestrator_core.execute.live.pace import Observed, Pace


def rows(kind: str, worker: str, ratio: float, number: int) -> list[Observed]:
    return [Observed(kind, worker, 1.0, ratio)] * number


def test_nothing_observed_changes_nothing() -> None:
    assert Pace.of([]).factor("load", "a") == 1.0


def test_durations_as_believed_change_nothing() -> None:
    assert Pace.of(rows("load", "a", 1.0, 20)).factor("load", "a") == 1.0


def test_a_slow_worker_is_found_and_the_others_stay_as_they_are() -> None:
    observed = [o for w in "bcde" for o in rows("load", w, 1.0, 10)] + rows("load", "a", 4.0, 10)
    pace = Pace.of(observed)
    assert pace.factor("load", "a") == pytest.approx(4.0, rel=0.25)
    assert pace.factor("load", "b") == pytest.approx(1.0, rel=0.15)
    assert pace.factor("sum", "a") > 2.5, "it is slow for kinds too that it has not run"


def test_a_kind_that_takes_longer_does_so_everywhere() -> None:
    observed = [o for w in "abcd" for o in rows("load", w, 3.0, 10) + rows("sum", w, 1.0, 10)]
    pace = Pace.of(observed)
    assert pace.factor("load", "a") == pytest.approx(3.0, rel=0.25)
    assert pace.factor("sum", "a") == pytest.approx(1.0, rel=0.15)
    assert pace.factor("load", "new") > 1.7


def test_one_straggler_is_no_proof() -> None:
    observed = [o for w in "abcd" for o in rows("load", w, 1.0, 10)] + rows("load", "a", 10.0, 1)
    assert Pace.of(observed).factor("load", "a") < 1.4


def test_tasks_that_agree_are_believed_soon() -> None:
    """Two that take four times as long on the same worker, and not only half of that."""
    factors = [Pace.of(rows("load", "a", 4.0, n)).factor("sum", "a") for n in (1, 2, 3)]
    assert 1.5 < factors[0] < 2.5, "one may be chance"
    assert factors[1:] == pytest.approx([4.0, 4.0], rel=0.2)


def test_tasks_that_are_scattered_say_nothing_of_their_worker() -> None:
    ratios = (0.4, 2.5, 0.6, 1.7, 1.5)
    observed = [o for r in ratios for o in rows("load", "a", r, 1)] + rows("load", "b", 1.0, 5)
    assert Pace.of(observed).factor("load", "a") == pytest.approx(1.0, abs=0.1)


def test_a_single_task_is_believed_to_tell_only_so_much() -> None:
    wild, wilder = Observed("k", "a", 1.0, 1e3), Observed("k", "a", 1.0, 1e6)
    assert wild.deviation == wilder.deviation == 2.0
    assert Observed("k", "a", 1.0, 1e-9).deviation == -2.0


def test_short_tasks_say_little() -> None:
    assert abs(Observed("k", "a", 0.001, 0.004).deviation) < math.log(1.4)


def test_a_clock_that_stepped_back_tells_of_a_task_of_no_length() -> None:
    assert Observed("k", "a", 1.0, -0.02).deviation == Observed("k", "a", 1.0, 0.0).deviation
    assert Observed("k", "a", 1.0, -1e9).deviation == -2.0
