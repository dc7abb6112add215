"""Which epoch an announced key belongs to."""

from __future__ import annotations

from orchestrator_core.execute.dask.graphs.announced import Announcements


def announcements() -> Announcements:
    return Announcements(lambda run: None, lambda epoch: None, lambda: 0.0)


def test_a_key_that_another_run_has_announced_since_stays_its_own() -> None:
    both = announcements()
    both.begin("first", [("a", "a", "k"), ("b", "b", "k")], 0.0)
    _, second = both.begin("second", [("a", "a", "k"), ("c", "c", "k")], 1.0)
    both.withdraw("first", ["a"])
    assert both.epoch("a") is second
    both.end("first")
    assert (both.epoch("a"), both.epoch("b")) == (second, None)
    both.end("second")
    assert both.epoch("a") is None


def test_a_key_that_is_announced_again_belongs_to_the_later_epoch() -> None:
    both = announcements()
    both.begin("run", [("a", "a", "k")], 0.0)
    _, again = both.begin("run", [("a", "a", "k")], 1.0)
    assert both.epoch("a") is again
    both.end("run")
    assert both.epoch("a") is None


def test_what_is_announced_again_is_open_again() -> None:
    both = announcements()
    run, _ = both.begin("run", [("a", "a", "k"), ("b", "b", "k"), ("c", "c", "k")], 0.0)
    run.settle("a", "ok")
    run.settle("b", "failed")
    assert run.open == {"c"}
    both.begin("run", [("a", "a", "k")], 1.0)
    assert run.open == {"a", "c"}
    both.withdraw("run", ["c"])
    assert run.open == {"a"}
