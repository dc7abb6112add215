"""What planning needs is loaded while Prefect starts a flow, which is waiting for the most part.

It is 0.2 s of CPU time, most of it the database's library, and 0.7 s where Python has to compile
the modules; a flow's tasks would wait for it.
"""

from __future__ import annotations

import functools
import logging
from threading import Thread

log = logging.getLogger("orchestrator")


@functools.cache
def begin_loading() -> None:
    """Load it in a thread, once in a process; returns at once."""
    Thread(target=_load, name="orchestrator-loading", daemon=True).start()


def _load() -> None:
    try:
        import orchestrator_core.orchestrate
        import orchestrator_core.orchestrate.first_answer  # noqa: F401
    except Exception:
        log.debug("what planning needs could not be loaded; it is tried again", exc_info=True)
