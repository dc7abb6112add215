"""Functions that run on every worker, shipped by value: workers need not have this project."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin


def install_on_workers(
    client: Any,
    name: str,
    *,
    on_setup: Callable[[Any], None],
    on_output: Sequence[Callable[[Any, str, Any], None]],
) -> None:
    """Install functions on all workers of the client's cluster, also those that join later.

    Args:
        client: a `distributed.Client`.
        name: what is installed under a name stays; installing it again does nothing.
        on_setup: called with the worker. on_output: each called with the worker, the key and the
            output of each task that it has computed. All must be functions inside functions, or
            they are pickled by reference; what they raise is ignored.
    """
    client.register_plugin(_guest(on_setup, on_output), name=name)


def _guest(
    on_setup: Callable[[Any], None], on_output: Sequence[Callable[[Any, str, Any], None]]
) -> WorkerPlugin:
    class Guest(WorkerPlugin):
        """A class inside a function, because only such a one is always pickled by value."""

        idempotent = True

        def setup(self, worker: Any) -> None:
            self.worker = worker
            try:
                on_setup(worker)
            except Exception:
                import logging

                logging.getLogger("orchestrator").debug("not installed", exc_info=True)

        def transition(self, key: Any, start: str, finish: str, **kwargs: Any) -> None:
            if start == "executing" and finish == "memory":
                # A guest must never disturb the worker, and it has nobody to tell.
                with contextlib.suppress(Exception):
                    output = self.worker.data.get(key)
                    for tell in on_output:
                        with contextlib.suppress(Exception):
                            tell(self.worker, key, output)

    return Guest()
