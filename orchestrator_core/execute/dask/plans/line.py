"""Line: questions that are answered one after the other, in a thread of their own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from distributed.metrics import monotonic

from orchestrator_core.execute.advice import Advice

PATIENCE = 1.0
"""Seconds for which a question may be thought about, and others still wait in line behind it."""

LONGEST = 16
"""Questions that may wait."""

Ask = Callable[[], Advice]


class Line:
    """Who asks gets a future answer; the thread is a daemon, for an answer may never come."""

    def __init__(self, answer: Callable[[Future[Advice], Ask], None]) -> None:
        """`answer` sets what a question comes to; called in the thread, it must not raise."""
        self._answer = answer
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[Advice], Ask]] = deque()
        self._since: float | None = None

    @property
    def is_free(self) -> bool:
        """Is no question open?"""
        return self._since is None

    def ask(self, question: Ask) -> Future[Advice] | None:
        """The future answer; None if it may take long until anybody thinks about it."""
        answer: Future[Advice] = Future()
        with self._lock:
            if self._since is not None:
                late = monotonic() - self._since > PATIENCE
                if late or len(self._waiting) >= LONGEST:
                    return None
                self._waiting.append((answer, question))
                return answer
            self._since = monotonic()
        threading.Thread(
            target=self._serve, args=(answer, question), name="orchestrator-advice", daemon=True
        ).start()
        return answer

    def _serve(self, answer: Future[Advice], question: Ask) -> None:
        while True:
            self._answer(answer, question)
            with self._lock:
                if not self._waiting:
                    self._since = None
                    return
                answer, question = self._waiting.popleft()
                self._since = monotonic()
