"""MemoryGauge: how much memory a task took beyond what its process had before.

Read at start and end; in between by a thread, every `PERIOD` seconds, which sleeps while nothing
runs; and where the task took the process higher than ever, exactly, by the operating system. What a
task takes and gives back again in a single step of the interpreter, which no other thread
interrupts, shows only by such a record.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable

PERIOD = 0.025
"""Seconds between two readings while tasks run."""

PATIENCE = 20
"""Readings without a task after which the thread goes to sleep."""


class MemoryGauge:
    """One for each worker; `begin` and `end` are called on its event loop.

    Only a task that had its process for itself gets an answer: what several tasks took together
    is nobody's.
    """

    def __init__(self, read: Callable[[], int], read_high_water: Callable[[], int]) -> None:
        self._read, self._read_high_water = read, read_high_water
        self._running: set[Hashable] = set()
        self._alone: Hashable | None = None
        self._before = self._highest = self._high_water = 0
        self._closed = False
        self._asleep = True
        self._wake, self._stop = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, task: Hashable) -> None:
        """The task is about to run."""
        self._alone = None if self._running else task
        self._running.add(task)
        if self._alone is not None:
            self._before = self._highest = self._read()
            self._high_water = self._read_high_water()
            if self._asleep:
                self._rouse()

    def end(self, task: Hashable) -> int | None:
        """The task has run: its peak in bytes; None if it was not alone or never began."""
        self._running.discard(task)
        if self._alone is None or self._alone != task:
            return None
        self._alone = None
        high_water = self._read_high_water()
        record = high_water if high_water > self._high_water else 0
        return max(0, max(self._highest, self._read(), record) - self._before)

    def disturb(self) -> None:
        """Nothing can be said any more about the task that runs."""
        self._alone = None

    def sample(self) -> None:
        """Look now; called by the thread."""
        task = self._alone
        if task is not None:
            now = self._read()
            if now > self._highest and self._alone is task:
                self._highest = now

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._stop.set()
        self._wake.set()

    def _rouse(self) -> None:
        self._asleep = False
        self._wake.set()
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(
                target=self._watch, name="orchestrator-memory", daemon=True
            )
            self._thread.start()

    def _watch(self) -> None:
        while not self._closed:
            self._wake.wait()
            self._wake.clear()
            idle = 0
            while idle < PATIENCE and not self._stop.wait(PERIOD):
                idle = 0 if self._running else idle + 1
                self.sample()
            # In this order: whoever begins from here on wakes us again.
            self._asleep = True
            if self._running:
                self._asleep = False
                self._wake.set()
