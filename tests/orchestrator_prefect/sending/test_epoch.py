"""When held messages go: no clock but the one that the test moves, no thread but one's own."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from orchestrator_prefect.sending.epoch import EpochBuffer, Submission


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class World:
    """A buffer, and what came out of it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.sent: list[str] = []
        self.epochs: list[list[str]] = []
        self.sent_at_planning: list[int] = []
        self.buffer = EpochBuffer(
            lambda message: self.sent.append(message["name"]),
            before=self.plan,
            silence=0.05,
            longest=1.0,
            clock=self.clock,
        )

    def plan(self, batch: list[Submission]) -> None:
        self.epochs.append([submission.name for submission in batch])
        self.sent_at_planning.append(len(self.sent))

    def submit(self, name: str) -> Submission:
        submission = Submission(name, "kind", key=name)
        self.buffer.expect(submission)
        self.message(name, op="update-graph", keys={name})
        self.buffer.withdraw(submission)
        return submission

    def message(self, name: str, **content: Any) -> None:
        self.buffer.take({"name": name, "op": "other", **content})


@pytest.fixture
def world() -> World:
    return World()


def test_a_submission_waits_until_its_result_is_asked_for(world: World) -> None:
    first, second = world.submit("a"), world.submit("b")
    assert world.sent == []
    world.buffer.flush(wanted=first)
    assert world.sent == ["a", "b"]
    assert world.epochs == [["a", "b"]]
    assert world.sent_at_planning == [0], "an epoch is planned before any of it is sent"
    assert second.sent


def test_asking_for_what_has_gone_ends_no_epoch(world: World) -> None:
    first = world.submit("a")
    world.buffer.flush()
    world.submit("b")
    world.buffer.flush(wanted=first)
    assert world.sent == ["a"]


def test_silence_is_counted_from_the_last_submission(world: World) -> None:
    assert world.buffer.remaining() is None
    world.submit("a")
    world.clock.now = 0.04
    world.submit("b")
    assert world.buffer.remaining() == pytest.approx(0.05)
    world.clock.now = 0.06
    world.message("no submission")
    assert world.buffer.remaining() == pytest.approx(0.03)


def test_the_longest_wait_is_counted_from_the_first(world: World) -> None:
    for tick in range(33):
        world.clock.now = tick * 0.03
        world.submit(str(tick))
    assert world.clock.now == pytest.approx(0.96)
    assert world.buffer.remaining() == pytest.approx(0.04)


def test_there_is_no_silence_while_a_submission_is_being_serialised(world: World) -> None:
    world.submit("a")
    slow = Submission("slow", "kind", key="slow")
    world.buffer.expect(slow)
    world.clock.now = 0.5
    assert world.buffer.remaining() == pytest.approx(0.5)
    world.buffer.withdraw(slow)
    assert world.buffer.remaining() == pytest.approx(0.05)


def test_a_submission_without_a_message_counts_as_gone(world: World) -> None:
    failed = Submission("failed", "kind", key="failed")
    world.buffer.expect(failed)
    world.buffer.withdraw(failed)
    assert failed.sent
    assert world.buffer.remaining() is None


def test_no_message_overtakes_another(world: World) -> None:
    world.message("before")
    assert world.sent == ["before"]
    world.submit("a")
    world.message("release a")
    assert world.sent == ["before"]
    world.buffer.flush()
    assert world.sent == ["before", "a", "release a"]


def test_planned_submissions_go_in_the_order_of_the_plan(world: World) -> None:
    """A worker begins the first task that it hears of, so that has to be the first one planned."""
    starts = {"late": 2.0, "first": 0.0, "then": 0.0, "soon": 1.0}

    def plan(batch: list[Submission]) -> None:
        for submission in batch:
            submission.start = starts.get(submission.name)

    world.buffer._before = plan
    for name in ("late", "first", "then"):
        world.submit(name)
    world.message("release late")
    for name in ("soon", "free", "first"):
        world.submit(name)
    world.buffer.flush()
    in_order = ["first", "then", "late", "release late", "soon", "free", "first"]
    assert world.sent == in_order, "ties stay as they came, and nobody passes what has no start"


def test_what_comes_while_an_epoch_is_planned_belongs_to_the_next(world: World) -> None:
    plan = world.plan

    def slow_plan(batch: list[Submission]) -> None:
        plan(batch)
        if len(world.epochs) == 1:
            other = threading.Thread(target=world.submit, args=("late",))
            other.start()
            other.join(10)
            assert not other.is_alive(), "submitting must not wait for planning"

    world.buffer._before = slow_plan
    world.submit("a")
    world.buffer.flush()
    assert world.sent == ["a"]
    world.buffer.close()
    assert world.epochs == [["a"], ["late"]]
    assert world.sent == ["a", "late"]


def test_closing_sends_what_is_left_and_holds_nothing_more(world: World) -> None:
    world.submit("a")
    world.buffer.close()
    world.submit("b")
    assert world.sent == ["a", "b"]
    assert world.epochs == [["a"]]


def test_the_watcher_flushes_when_the_silence_is_over(world: World) -> None:
    gone = threading.Event()
    world.buffer._after = lambda batch: gone.set()
    world.buffer.watch()
    world.submit("a")
    world.clock.now = 0.2
    world.message("wakes the watcher, and is no submission")
    assert gone.wait(10)
    world.buffer.close()
    assert world.epochs == [["a"]]


def test_many_threads_lose_nothing_and_keep_their_own_order(world: World) -> None:
    def many(thread: int) -> None:
        for number in range(50):
            submission = world.submit(f"{thread}-{number:02}")
            if number % 10 == 9:
                world.buffer.flush(wanted=submission)

    threads = [threading.Thread(target=many, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(world.sent) == 200
    assert [name for epoch in world.epochs for name in epoch] == world.sent
    for i in range(4):
        own = [name for name in world.sent if name.startswith(f"{i}-")]
        assert own == sorted(own)


def test_what_has_not_gone_can_be_dropped_at_the_end(world: World) -> None:
    world.submit("a")
    world.buffer.flush()
    world.submit("b")
    world.message("release of c")
    world.buffer.close(drop=True)
    world.submit("d")
    assert world.sent == ["a", "release of c", "d"]
    assert world.epochs == [["a"]]
