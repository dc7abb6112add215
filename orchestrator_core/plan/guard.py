"""guarded: run what may hang, and go on without it if it does."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def guarded(work: Callable[[], T], patience: float) -> T:
    """What `work` returns or raises, if it does so within `patience` seconds.

    It runs in a thread that does not keep the process alive; what hangs is left behind there.

    Raises:
        TimeoutError: if it took longer.
    """
    outcome: queue.SimpleQueue[tuple[T | None, Exception | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            outcome.put((work(), None))
        except Exception as error:  # raised again below, in the caller's thread
            outcome.put((None, error))

    threading.Thread(target=run, name="orchestrator-planner", daemon=True).start()
    try:
        value, error = outcome.get(timeout=patience)
    except queue.Empty:
        raise TimeoutError(f"no answer within {patience:.3g} s") from None
    if error is not None:
        raise error
    return value  # type: ignore[return-value]  # None only where T allows it
