"""Publish: show a session on the scheduler's own HTTP server, by a page and by figures.

Nobody's tasks depend on it: what cannot be shown is logged, and the plugin goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from orchestrator_core.execute.dask.watch.metrics import METRICS
from orchestrator_core.execute.dask.watch.page import Page
from orchestrator_core.execute.dask.watch.status import Status

log = logging.getLogger("orchestrator.dask")


def publish(status: Status) -> Callable[[], None]:
    """Add ``/orchestrator`` and the figures in ``/metrics``; call the result to take them away."""
    page, session = Page(status), status.session
    _try("the page", page.install)
    _try("the metrics", lambda: METRICS.add(session))

    def withdraw() -> None:
        _try("the page", page.uninstall)
        _try("the metrics", lambda: METRICS.remove(session))

    return withdraw


def _try(what: str, step: Callable[[], None]) -> None:
    try:
        step()
    except Exception:
        log.warning("%s on the scheduler's HTTP server: failed", what, exc_info=True)
