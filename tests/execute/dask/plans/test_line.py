"""Questions in a line: answered one after the other, and not taken where that may take for ever."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask.plans import line
from orchestrator_core.execute.dask.plans.line import LONGEST, PATIENCE, Ask, Line


def advice(reason: str) -> Advice:
    return Advice(None, reason)


def answered(answer: Future[Advice], question: Ask) -> None:
    answer.set_result(question())


class Thinking:
    """A question that is thought about until `go`; `begun` is set when that begins."""

    def __init__(self, reason: str) -> None:
        self.reason, self.go, self.begun = reason, threading.Event(), threading.Event()

    def __call__(self) -> Advice:
        self.begun.set()
        assert self.go.wait(60)
        return advice(self.reason)


def test_questions_are_answered_in_turn_and_never_two_at_once() -> None:
    row, order = Line(answered), []
    first = Thinking("first")
    answers = [row.ask(first)]
    answers += [row.ask(lambda n=n: order.append(n) or advice(str(n))) for n in range(5)]  # type: ignore[misc]
    assert first.begun.wait(60)
    assert order == []
    assert not row.is_free
    first.go.set()
    assert [each.result(60).reason for each in answers if each] == ["first", *"01234"]
    assert order == list(range(5))


def test_the_line_is_free_again_and_serves_whoever_comes_next() -> None:
    row = Line(answered)
    for n in range(200):
        answer = row.ask(lambda n=n: advice(str(n)))  # type: ignore[misc]
        assert answer is not None
        assert answer.result(60).reason == str(n)
    last = Thinking("last")
    asked = row.ask(last)
    last.go.set()
    assert asked is not None
    assert asked.result(60).reason == "last"


def test_nobody_waits_behind_a_question_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(line, "monotonic", lambda: now[0])
    row, slow, second = Line(answered), Thinking("slow"), Thinking("second")
    asked = row.ask(slow)
    now[0] += PATIENCE
    behind = row.ask(second)
    assert behind is not None, "there is still hope"
    now[0] += 0.01
    assert row.ask(Thinking("third")) is None
    slow.go.set()
    assert second.begun.wait(60)
    after = row.ask(lambda: advice("after"))
    assert after is not None, "who is thought about now has only begun"
    second.go.set()
    assert [each.result(60).reason for each in (asked, behind, after) if each] == [
        "slow", "second", "after",
    ]  # fmt: skip


def test_a_line_has_an_end() -> None:
    row, slow = Line(answered), Thinking("slow")
    answers = [row.ask(slow), *(row.ask(lambda: advice("")) for _ in range(LONGEST))]
    assert None not in answers
    assert row.ask(lambda: advice("")) is None
    slow.go.set()
    for answer in answers:
        assert answer is not None
        answer.result(60)
