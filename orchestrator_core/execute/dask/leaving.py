"""Leaving: the steps back to a scheduler as it was; all are taken, whatever one of them does."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

log = logging.getLogger("orchestrator.dask")


def take_all(steps: Iterable[Callable[[], object]]) -> None:
    """One after the other; what goes wrong is logged, and raised nowhere."""
    for step in steps:
        try:
            step()
        except Exception:
            log.exception("leaving the scheduler: one step failed, the others go on")
