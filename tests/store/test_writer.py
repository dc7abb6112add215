"""Writing in the background: the caller never waits, and what fails is dropped and said once."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from orchestrator_core.store import writer as module
from orchestrator_core.store.writer import BackgroundWriter


@pytest.fixture
def writer() -> Iterator[BackgroundWriter]:
    writer = BackgroundWriter()
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


@pytest.mark.parametrize("bad", [fail, leave])
def test_what_fails_is_dropped_alone(
    writer: BackgroundWriter, caplog: pytest.LogCaptureFixture, bad: Callable[[], None]
) -> None:
    """An exit, too."""
    done: list[int] = []
    for i in range(3):
        writer.submit(lambda i=i: done.append(i))  # type: ignore[misc]
        writer.submit(bad)
    assert writer.flush(10.0)
    assert done == [0, 1, 2]
    assert writer.dropped == 3
    assert len(caplog.records) == 3


def test_of_errors_in_a_row_the_first_is_said(
    writer: BackgroundWriter, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        writer.submit(fail)
    assert writer.flush(10.0)
    (said,) = caplog.messages
    assert said == "a record of this run could not be written: OSError: disk full"
    assert writer.dropped == 3


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
