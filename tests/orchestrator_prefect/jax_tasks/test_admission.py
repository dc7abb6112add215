"""Running tasks never book more of a device than it has, whoever they are."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator_prefect.jax_tasks.admission import Admission
from orchestrator_prefect.jax_tasks.neighbours import Neighbours


def test_many_threads_hold_at_most_what_there_is_and_all_get_in() -> None:
    admission, held, most = Admission(10), [0], [0]
    lock, full = threading.Lock(), threading.Barrier(2)

    def task(nbytes: int) -> None:
        with admission.admitted(nbytes):
            with lock:
                held[0] += nbytes
                most[0] = max(most[0], held[0])
            if nbytes == 5:
                full.wait(60)
            with lock:
                held[0] -= nbytes

    sizes = [5, 5, 1, 2, 3, 4, 6, 7, 8, 3, 4, 6, 7]
    threads = [threading.Thread(target=task, args=(size,)) for size in sizes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most[0] == 10, "two that need half each were there at once, and nobody else"
    assert (admission.most, admission.booked, admission.running) == (10, 0, 0)


def test_what_lies_on_the_device_counts() -> None:
    on_it = [4]
    admission = Admission(10, lambda: on_it[0])
    order: list[str] = []
    waiting, started = threading.Event(), threading.Event()

    def second() -> None:
        started.set()
        with admission.admitted(4):
            order.append("second")
        waiting.set()

    with admission.admitted(3):
        thread = threading.Thread(target=second)
        thread.start()
        started.wait(60)
        assert not waiting.wait(0.2), "4 + 3 + 4 is too much"
        order.append("dropped")
        on_it[0] = 3
        assert waiting.wait(60), "nobody told it that a result was dropped"
    thread.join(60)
    assert order == ["dropped", "second"]


def test_a_task_that_is_too_large_gets_in_when_no_other_runs() -> None:
    admission = Admission(10, lambda: 9)
    with admission.admitted(100):
        assert admission.booked == 100


def test_a_failing_task_gives_back_what_it_had() -> None:
    admission = Admission(10)
    with pytest.raises(ValueError, match="wrong"), admission.admitted(8):
        raise ValueError("wrong")
    assert (admission.booked, admission.running) == (0, 0)


@pytest.fixture
def another() -> Iterator[int]:
    """The number of a process that lives."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.terminate()


def test_two_processes_share_one_device(tmp_path: Path, another: int) -> None:
    ours = Admission(10, others=Neighbours("gpu-0", tmp_path))
    theirs = Admission(10, others=Neighbours("gpu-0", tmp_path, process=another))
    inside = threading.Event()

    def their_task() -> None:
        with theirs.admitted(6):
            inside.set()

    with ours.admitted(6):
        thread = threading.Thread(target=their_task)
        thread.start()
        assert not inside.wait(0.2), "6 + 6 is too much"
    assert inside.wait(60)
    thread.join(60)
    elsewhere = Admission(10, others=Neighbours("gpu-1", tmp_path, process=another))
    with ours.admitted(6), elsewhere.admitted(6):
        assert ours.running == elsewhere.running == 1


def test_processes_that_are_gone_hold_nothing(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    Neighbours("gpu-0", tmp_path, process=gone.pid).say(9, 1)
    here = Neighbours("gpu-0", tmp_path, process=os.getppid())
    assert here.others() == (0, 0)
    assert [path.name for path in tmp_path.iterdir()] == []
