"""A task's peak is what its process had at most while it ran, less what it had before."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator_core.execute.dask.workers.shipped import gauge as gauges
from orchestrator_core.execute.dask.workers.shipped import rss
from orchestrator_core.execute.dask.workers.shipped.gauge import MemoryGauge
from orchestrator_core.execute.dask.workers.shipped.rss import high_water_reader, rss_reader


class Process:
    """A process whose memory the test sets."""

    def __init__(self) -> None:
        self.rss = self.high_water = 100

    def uses(self, rss: int) -> None:
        self.rss, self.high_water = rss, max(rss, self.high_water)

    def forgets(self) -> None:
        """The highest was long ago: nothing that a task does reaches it."""
        self.high_water = 10**9


@pytest.fixture
def process() -> Process:
    return Process()


@pytest.fixture
def gauge(process: Process) -> Iterator[MemoryGauge]:
    made = MemoryGauge(lambda: process.rss, lambda: process.high_water)
    yield made
    made.close()


def test_what_is_held_at_the_end_counts(process: Process, gauge: MemoryGauge) -> None:
    process.forgets()
    gauge.begin("a")
    process.uses(130)
    assert gauge.end("a") == 30


def test_what_was_seen_in_between_counts(process: Process, gauge: MemoryGauge) -> None:
    process.forgets()
    gauge.begin("a")
    process.uses(500)
    gauge.sample()
    process.uses(90)
    assert gauge.end("a") == 400
    gauge.begin("b")
    assert gauge.end("b") == 0, "each task begins anew"


def test_a_record_of_the_process_is_exact(process: Process, gauge: MemoryGauge) -> None:
    gauge.begin("a")
    process.high_water = 700
    assert gauge.end("a") == 600
    gauge.begin("b")
    assert gauge.end("b") == 0, "the record is the first task's"


def test_memory_that_went_away_is_no_debt(process: Process, gauge: MemoryGauge) -> None:
    gauge.begin("a")
    process.uses(20)
    assert gauge.end("a") == 0


def test_what_tasks_take_together_is_nobodys(process: Process, gauge: MemoryGauge) -> None:
    gauge.begin("a")
    gauge.begin("b")
    process.uses(900)
    assert gauge.end("a") is None
    gauge.begin("c")
    assert gauge.end("b") is None
    assert gauge.end("c") is None
    gauge.begin("d")
    process.uses(950)
    assert gauge.end("d") == 50


def test_a_disturbed_task_says_nothing_and_stands_in_others_way(gauge: MemoryGauge) -> None:
    gauge.begin("a")
    gauge.disturb()
    gauge.begin("b")
    assert gauge.end("b") is None
    assert gauge.end("a") is None
    assert gauge.end("never begun") is None


def test_the_thread_looks_while_a_task_runs_and_sleeps_when_none_does(
    monkeypatch: pytest.MonkeyPatch, process: Process
) -> None:
    monkeypatch.setattr(gauges, "PERIOD", 0.001)
    process.forgets()
    looked, threads = threading.Event(), set()

    def read() -> int:
        threads.add(threading.current_thread())
        if len(threads) > 1:
            looked.set()
        return process.rss

    gauge = MemoryGauge(read, lambda: process.high_water)
    for peak in (400, 900):
        process.rss = peak
        looked.clear()
        threads.clear()
        threads.add(threading.current_thread())
        process.rss = 100
        gauge.begin("a")
        process.rss = peak
        looked.clear()
        assert looked.wait(10)
        looked.clear()
        assert looked.wait(10), "the second look began after the memory was taken"
        process.rss = 100
        assert gauge.end("a") == peak - 100
        while not gauge._asleep:
            looked.wait(0.001)
    (thread,) = threads - {threading.current_thread()}
    gauge.close()
    thread.join(10)
    assert not thread.is_alive()


def test_a_closed_gauge_starts_no_thread(process: Process, gauge: MemoryGauge) -> None:
    before = threading.active_count()
    gauge.close()
    gauge.begin("a")
    process.uses(150)
    assert gauge.end("a") == 50
    assert threading.active_count() == before


def test_this_process_has_memory() -> None:
    read, read_high_water = rss_reader(), high_water_reader()
    before = read()
    held = bytearray(64_000_000)
    assert 60_000_000 < read() - before < 200_000_000
    assert read_high_water() >= before + len(held) * 0.9


def test_a_process_does_not_inherit_the_high_water_of_its_parent() -> None:
    """As workers are children of a process that once was large."""
    held = bytearray(300_000_000)
    # The module alone: it needs nothing, and all of Dask would take as long as it takes memory.
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from rss import high_water_reader;"
        "read = high_water_reader(); before = read(); held = bytearray(80_000_000);"
        "del held; print(before, read())"
    )
    command = [sys.executable, "-c", code, str(Path(rss.__file__).parent)]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert held
    before, after = map(int, said.stdout.split())
    assert before < 100_000_000
    # Linux counts in batches; what it tells may be a little off.
    assert 79_000_000 < after - before < 100_000_000


def test_without_linux_the_operating_system_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    by_linux = high_water_reader()()
    monkeypatch.setattr("orchestrator_core.execute.dask.workers.shipped.rss.STATUS", "/nowhere")
    assert high_water_reader()() >= 0.9 * by_linux


def test_without_linux_psutil_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    by_linux = rss_reader()()
    monkeypatch.setattr("orchestrator_core.execute.dask.workers.shipped.rss.STATM", "/nowhere")
    assert 0.5 < rss_reader()() / by_linux < 2
