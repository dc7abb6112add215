"""Outermost: what subflows have still to publish is waited for once, by the flow that called them.

Each wait at a subflow's end would hold up the flow around it: a moment while the server is quick,
seconds while its database is locked and Prefect's client tries again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from orchestrator_prefect.runs.publisher import PATIENCE_SECONDS, Publisher


class Outermost:
    """Publishers of a flow run and of all that ran inside it; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._left: list[Publisher] | None = []

    def leave(self, publisher: Publisher) -> None:
        """Wait for it at the end; or now, if that was before, as where a thread outlives a flow."""
        with self._lock:
            if self._left is not None:
                self._left.append(publisher)
                return
        publisher.wait()

    def wait(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Until all is published, at most so many seconds, all of them together."""
        with self._lock:
            left, self._left = self._left or [], None
        until = time.monotonic() + seconds
        for publisher in left:
            publisher.wait(max(0.0, until - time.monotonic()))


_OUTERMOST: ContextVar[Outermost | None] = ContextVar("outermost", default=None)


@contextmanager
def outermost() -> Iterator[Outermost]:
    """That of the flow run around this one, or, where there is none, a new one that is waited for
    when the block ends."""
    around = _OUTERMOST.get()
    if around is not None:
        yield around
        return
    made = Outermost()
    _OUTERMOST.set(made)
    try:
        yield made
    finally:
        # Not by token: a generator's flow may end in another context than it began in.
        _OUTERMOST.set(None)
        made.wait()
