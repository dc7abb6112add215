"""MemoryWatch: how much the workers hold at most while something runs."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType

import psutil  # type: ignore[import-untyped]

from tests.benchmarks.live.cluster import Running

SECONDS = 0.005
RESIDENT_EVERY = 5
"""Of the samples, since the operating system has to be asked."""


class MemoryWatch:
    """Samples while it is entered.

    Attributes:
        managed: largest sum, over all workers, of the bytes of the outputs that they hold.
        resident: by how many bytes their processes grew at most.
    """

    def __init__(self, live: Running) -> None:
        self.managed = 0.0
        self.resident = 0.0
        self._workers = live.scheduler.workers
        self._processes = [psutil.Process(pid) for pid in live.processes]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._before = self._resident_now()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        count = 0
        while not self._stop.wait(SECONDS):
            held = sum(state.nbytes for state in list(self._workers.values()))
            self.managed = max(self.managed, float(held))
            if count % RESIDENT_EVERY == 0:
                self.resident = max(self.resident, self._resident_now() - self._before)
            count += 1

    def _resident_now(self) -> float:
        found = 0.0
        for process in self._processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                found += process.memory_info().rss
        return found
