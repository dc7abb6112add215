"""Held keys wait for exactly what they were told to wait for, and never for ever."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator_core.execute.directives import Hold, Key
from orchestrator_core.execute.holds import Holds


def held(holds: Mapping[Key, Hold], sent: str = "", done: str = "") -> Holds:
    books = Holds()
    books.add(holds, lambda key: key in sent or key in done, lambda key: key in done)
    return books


def test_a_key_waits_until_all_are_sent_and_done() -> None:
    books = held({"x": Hold(frozenset("ab"), frozenset("c"), patience=9.0)})
    assert books.begin("x", 1.0)
    assert books.waiting == {"x": 10.0}
    assert books.sent("a") == books.sent("c") == []
    assert books.done("c") == []
    assert books.sent("b") == ["x"]
    assert len(books) == 0


def test_what_has_happened_before_is_not_waited_for() -> None:
    books = held({"x": Hold(frozenset("a"), frozenset("c"))}, sent="a", done="c")
    assert not books.begin("x", 0.0)


def test_done_counts_as_sent() -> None:
    books = held({"x": Hold(frozenset("a"))})
    assert books.begin("x", 0.0)
    assert books.done("a") == ["x"]


def test_a_key_that_becomes_ready_late_does_not_wait_for_what_is_past() -> None:
    books = held({"x": Hold(frozenset("a"))})
    assert books.sent("a") == [], "it was not ready, so nothing is to be done"
    assert not books.begin("x", 0.0)


def test_patience_counts_from_the_moment_of_being_ready() -> None:
    books = held({"x": Hold(frozenset("a"), patience=2.0)})
    assert books.expired(100.0) == []
    assert books.begin("x", 100.0)
    assert books.expired(101.9) == []
    assert books.begin("x", 101.9), "asked again, it still waits, no longer than before"
    assert books.expired(102.0) == ["x"]
    assert not books.begin("x", 102.0)
    assert books.sent("a") == []


def test_a_clock_that_jumps_ahead_ends_the_wait() -> None:
    books = held({"x": Hold(frozenset("a"), patience=2.0)})
    assert books.begin("x", 0.0)
    assert not books.begin("x", 50.0)


def test_nobody_waits_for_itself() -> None:
    assert not held({"x": Hold(frozenset("x"), frozenset("x"))}).begin("x", 0.0)


def test_a_dropped_key_is_never_let_go() -> None:
    books = held({"x": Hold(frozenset("a")), "y": Hold(frozenset("a"))})
    assert books.begin("x", 0.0)
    assert books.begin("y", 0.0)
    books.drop("x")
    assert books.sent("a") == ["y"]


def test_who_parts_neither_waits_nor_is_waited_for() -> None:
    books = held({key: Hold(done=frozenset("a")) for key in "xy"} | {"b": Hold(frozenset("c"))})
    assert books.begin("x", 0.0)
    assert books.begin("b", 0.0)
    assert set(books.part(["a", "b"])) == {"x", "b"}, "y was not ready"
    assert len(books) == 0


def test_those_who_do_not_part_wait_as_before() -> None:
    books = held({"x": Hold(done=frozenset("a")), "y": Hold(done=frozenset("b"))})
    assert books.begin("x", 0.0)
    assert books.part(["b", "c"]) == []
    assert set(books.keys) == {"x"}
    assert books.done("a") == ["x"]
