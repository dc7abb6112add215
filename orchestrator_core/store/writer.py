"""BackgroundWriter: writes happen on a thread of their own, never on an event loop or in a flow.

Whoever submits goes on at once. What cannot be written is dropped, counted and said; whether it is
worth trying to write at all is for the store to know (`SafeStore`).
"""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from collections import deque
from collections.abc import Callable

CAPACITY = 1000
"""Writes that may wait; beyond that the newest are dropped."""

CLOSE_SECONDS = 10.0
"""How long `close`, and the end of the process, wait for the writes that are still to be done."""

logger = logging.getLogger(__name__)


class BackgroundWriter:
    """Runs functions one after another on a daemon thread; no method raises or holds up the caller.

    ::

        writer = BackgroundWriter()
        writer.submit(lambda: store.add_run(run))
        writer.close()

    When a function raises, the others are called all the same; of errors in a row the first is
    logged. `dropped` counts what was not written.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self._waiting: deque[Callable[[], object]] = deque()
        self._changed = threading.Condition()
        self._unfinished = 0
        self._is_failing = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def submit(self, write: Callable[[], object]) -> bool:
        """Have `write` called soon; False if it is dropped instead. Returns at once."""
        with self._changed:
            if self._closed or len(self._waiting) >= CAPACITY:
                self.dropped += 1
                return False
            if self._thread is None:
                self._start()
            self._waiting.append(write)
            self._unfinished += 1
            self._changed.notify_all()
            return True

    def flush(self, timeout: float = CLOSE_SECONDS) -> bool:
        """Wait until everything submitted so far is done; False if `timeout` seconds pass first."""
        with self._changed:
            return self._changed.wait_for(lambda: self._unfinished == 0, timeout)

    def close(self, timeout: float = CLOSE_SECONDS) -> bool:
        """Do what is waiting and stop; False if that takes more than `timeout` seconds."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        return not thread.is_alive()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="orchestrator-writer", daemon=True)
        self._thread.start()
        atexit.register(_close_at_exit, weakref.ref(self))

    def _work(self) -> None:
        while (write := self._next()) is not None:
            try:
                write()
            except BaseException as error:  # an exit, too: others still have to be written
                self._note_failure(error)
            else:
                self._is_failing = False
            finally:
                del write
                with self._changed:
                    self._unfinished -= 1
                    self._changed.notify_all()

    def _next(self) -> Callable[[], object] | None:
        """The next write, or None when closed and all is done."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            return self._waiting.popleft() if self._waiting else None

    def _note_failure(self, error: BaseException) -> None:
        with self._changed:
            self.dropped += 1
        if not self._is_failing:
            said = "a record of this run could not be written: %s: %s"
            logger.warning(said, type(error).__name__, error)
        self._is_failing = True


def _close_at_exit(writer: weakref.ref[BackgroundWriter]) -> None:
    alive = writer()
    if alive is not None:
        alive.close()
