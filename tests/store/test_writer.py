"""Writing in the background: the caller never waits, and what fails is dropped and said once."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from orchestrator_core.store import writer as module
from orchestrator_core.store.writer import BackgroundWriter


class Clock:
    """Time that passes when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def writer(clock: Clock) -> Iterator[BackgroundWriter]:
    writer = BackgroundWriter(clock=clock)
    yield writer
    writer.close()


def fail() -> None:
    raise OSError("disk full")


def test_writes_happen_in_order_on_another_thread(writer: BackgroundWriter) -> None:
    done: list[tuple[int, int]] = []
    for i in range(100):
        assert writer.submit(lambda i=i: done.append((i, threading.get_ident())))  # type: ignore[misc]
    assert writer.flush(10.0)
    assert [i for i, _ in done] == list(range(100))
    assert threading.get_ident() not in {thread for _, thread in done}


def test_the_caller_does_not_wait_for_a_slow_write(writer: BackgroundWriter) -> None:
    gate, done = threading.Event(), threading.Event()
    writer.submit(gate.wait)
    assert writer.submit(done.set)
    assert not writer.flush(0.0)
    assert not done.is_set()
    gate.set()
    assert writer.flush(10.0)
    assert done.is_set()


def test_close_does_what_is_waiting_and_then_takes_nothing_more(writer: BackgroundWriter) -> None:
    done: list[int] = []
    for i in range(10):
        writer.submit(lambda i=i: done.append(i))  # type: ignore[misc]
    assert writer.close()
    assert len(done) == 10
    assert not writer.submit(fail)
    assert writer.dropped == 1
    assert writer.close()


def test_a_writer_that_never_wrote_has_no_thread() -> None:
    before = threading.active_count()
    writer = BackgroundWriter()
    assert threading.active_count() == before
    assert writer.flush(0.0)
    assert writer.close()


def leave() -> None:
    raise SystemExit(3)


def test_an_exit_is_a_write_that_failed(writer: BackgroundWriter, clock: Clock) -> None:
    done: list[int] = []
    writer.submit(leave)
    assert writer.flush(10.0)
    clock.now = 61.0
    assert writer.submit(lambda: done.append(1))
    assert writer.flush(10.0)
    assert done == [1]


def test_a_failure_is_said_once_and_nothing_is_written_for_a_while(
    writer: BackgroundWriter, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[int] = []
    with caplog.at_level(logging.WARNING):
        writer.submit(fail)
        assert writer.flush(10.0)
        assert not writer.submit(lambda: done.append(1))
        clock.now = 61.0
        assert writer.submit(fail)
        assert writer.flush(10.0)
        assert not writer.submit(lambda: done.append(2))
        clock.now = 122.0
        assert writer.submit(lambda: done.append(3))
        assert writer.flush(10.0)
    assert done == [3]
    assert writer.dropped == 4
    (said,) = caplog.records
    assert "OSError: disk full" in said.getMessage()


def test_what_waits_behind_a_failure_is_dropped_too(writer: BackgroundWriter) -> None:
    gate = threading.Event()

    def fail_later() -> None:
        gate.wait()
        fail()

    done: list[int] = []
    writer.submit(fail_later)
    for i in range(5):
        writer.submit(lambda i=i: done.append(i))  # type: ignore[misc]
    gate.set()
    assert writer.flush(10.0)
    assert done == []
    assert writer.dropped == 6


def test_a_writer_that_cannot_keep_up_drops_the_newest(
    writer: BackgroundWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CAPACITY", 3)
    gate, started = threading.Event(), threading.Event()
    writer.submit(lambda: (started.set(), gate.wait()))
    assert started.wait(10.0)
    done: list[int] = []
    taken = [writer.submit(lambda i=i: done.append(i)) for i in range(5)]  # type: ignore[misc]
    gate.set()
    assert writer.flush(10.0)
    assert taken == [True, True, True, False, False]
    assert done == [0, 1, 2]


def test_the_end_of_the_process_waits_for_what_was_submitted() -> None:
    program = (
        "from orchestrator_core.store.writer import BackgroundWriter\n"
        "writer = BackgroundWriter()\n"
        "writer.submit(lambda: (sum(range(3_000_000)), print('written')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "written\n"
