"""What takes a while is done now and then, and in the end."""

from __future__ import annotations

import threading

from orchestrator_core.orchestrate.paced import Paced

LONG = 60.0


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_rests_in_proportion_to_what_it_took() -> None:
    clock = Clock()
    paced = Paced(lambda: None, share=0.1, clock=clock)
    assert paced.is_due()
    paced.done(2.0)
    assert not paced.is_due()
    clock.now += 19.9
    assert not paced.is_due()
    clock.now += 0.2
    assert paced.is_due()


def test_it_never_has_to_wait_for_long() -> None:
    clock = Clock()
    paced = Paced(lambda: None, clock=clock)
    paced.done(60.0)
    assert not paced.is_due()
    clock.now += 20.0
    assert paced.is_due()


def test_what_had_to_wait_is_done_when_it_may_be() -> None:
    clock, came = Clock(), threading.Event()
    paced = Paced(came.set, share=1.0, clock=clock)
    paced.done(0.01)
    paced.later()  # in 0.01 s
    assert came.wait(LONG)


def test_it_is_done_once_however_often_it_had_to_wait() -> None:
    clock = Clock()
    count: list[int] = []
    paced = Paced(lambda: count.append(1), share=1e-3, clock=clock)
    paced.done(1.0)
    paced.later()
    paced.later()
    paced.hurry()
    paced.hurry()
    assert count == [1]


def test_nothing_waits_once_it_was_done_or_closed() -> None:
    clock = Clock()
    count: list[int] = []
    paced = Paced(lambda: count.append(1), share=1e-3, clock=clock)
    paced.hurry()
    paced.done(1.0)
    paced.later()
    paced.done(1.0)
    paced.hurry()
    paced.later()
    paced.close()
    paced.hurry()
    assert count == []


def test_what_is_asked_for_after_closing_leaves_no_thread_behind() -> None:
    """A run may still be written while its memory closes, and then ask to be learned from."""
    count: list[int] = []
    paced = Paced(lambda: count.append(1), share=1e-3, clock=Clock())
    paced.done(1.0)
    paced.close()
    before = set(threading.enumerate())
    paced.later()
    assert set(threading.enumerate()) <= before
    paced.hurry()
    assert count == []
