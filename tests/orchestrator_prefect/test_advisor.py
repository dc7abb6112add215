"""An advisor is made in the background, asked when it is there, and closed if it is one's own."""

from __future__ import annotations

import threading

import pytest

from orchestrator_core.execute.advice import Advisor as AdvisorProtocol
from orchestrator_prefect import advisor
from orchestrator_prefect.advisor import AdvisorOnCall, NotReady

from .conftest import Advisor


def test_it_can_be_asked_while_it_still_warms_up() -> None:
    warm, made = threading.Event(), Advisor()

    def warm_up(advisor: AdvisorProtocol) -> None:
        assert advisor is made
        warm.wait(10)

    on_call = AdvisorOnCall(lambda: made, warm_up=warm_up, owned=True)
    assert on_call.get(10) is made
    assert not warm.is_set()
    warm.set()
    on_call.close()
    assert made.closed


def test_who_does_not_come_in_time_is_not_waited_for() -> None:
    go = threading.Event()

    def slow() -> AdvisorProtocol:
        go.wait(10)
        return Advisor()

    on_call = AdvisorOnCall(slow, owned=True)
    with pytest.raises(NotReady, match=r"not ready within 0\.01 s"):
        on_call.get(0.01)
    go.set()
    assert isinstance(on_call.get(10), Advisor)


def test_of_many_epochs_each_waits_only_for_what_the_others_have_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A flow that waits for each result waited ten seconds before each of its tasks."""
    go, now, waits = threading.Event(), [0.0], list[float]()

    def never(seconds: float) -> bool:
        waits.append(seconds)
        now[0] += min(seconds, 6.0)
        return False

    def slow() -> AdvisorProtocol:
        go.wait(10)
        return Advisor()

    on_call = AdvisorOnCall(slow, owned=False)
    monkeypatch.setattr(advisor, "monotonic", lambda: now[0])
    monkeypatch.setattr(on_call._done, "wait", never)
    for _ in range(4):
        with pytest.raises(NotReady, match="not ready within 10 s"):
            on_call.get()
    go.set()
    assert waits == [10.0, 4.0, 0.0, 0.0]


def test_what_making_it_raised_comes_to_who_asks() -> None:
    def broken() -> AdvisorProtocol:
        raise OSError("no such database")

    on_call = AdvisorOnCall(broken, owned=True)
    with pytest.raises(OSError, match="no such database"):
        on_call.get(10)
    on_call.close()


def test_a_failed_warm_up_is_no_failure() -> None:
    def broken(advisor: AdvisorProtocol) -> None:
        raise OSError("no compiler")

    on_call = AdvisorOnCall(Advisor, warm_up=broken, owned=True)
    assert isinstance(on_call.get(10), Advisor)
    on_call.close()


def test_the_end_of_a_flow_does_not_wait_for_what_is_still_loaded() -> None:
    compiled, made = threading.Event(), Advisor()
    on_call = AdvisorOnCall(lambda: made, warm_up=lambda _: bool(compiled.wait(60)), owned=True)
    on_call.close()
    assert made.closed
    assert not compiled.is_set()
    compiled.set()


def test_a_borrowed_advisor_stays_open() -> None:
    made = Advisor()
    on_call = AdvisorOnCall(lambda: made, owned=False)
    on_call.get(10)
    on_call.close()
    assert not made.closed
