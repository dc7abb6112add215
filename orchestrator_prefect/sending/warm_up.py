"""Warming up: workers that were started for a run get ready for Prefect while the flow submits.

The first task of a worker's process imports Prefect, makes settings and reads certificates: half a
second after the imports, more where several threads begin at a time, and usually on the critical
path. Workers of other people's clusters are left alone: not every one of them may ever
run a task of Prefect.

Shipped by value, as all of `worker_side` is: functions inside functions.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from threading import Thread
from typing import Any

from prefect.logging import get_logger


def begin_warming(client: Any, settings: Mapping[str, Any], *once: Callable[[], None]) -> None:
    """Begin to warm up all workers of the client's cluster; returns at once, whatever happens.

    Args:
        client: a `distributed.Client`.
        settings: arguments of the `SettingsContext` that tasks will run in; they name a server.
        once: what else is to be done where Prefect has been imported.
    """
    args = (client, pickle.dumps(dict(settings)), once)
    Thread(target=_tell, args=args, name="orchestrator-warming", daemon=True).start()


def _tell(client: Any, settings: bytes, once: tuple[Callable[[], None], ...]) -> None:
    try:
        client.run(warming(settings, *once), on_error="ignore")
    except Exception:
        get_logger(__name__).debug("workers were not warmed up", exc_info=True)


def warming(settings: bytes, *once: Callable[[], None]) -> Callable[[], None]:
    """What a worker does, on its event loop, where it also reads the messages with its tasks: two
    threads that import Prefect at a time could meet half of a module."""

    def warm() -> None:
        import contextlib
        import pickle
        from importlib import import_module

        import_module("prefect_dask.client")
        for step in once:
            with contextlib.suppress(Exception):
                step()
        context = import_module("prefect.context")
        with context.hydrated_context({"settings_context": pickle.loads(settings)}):
            return

    return warm
