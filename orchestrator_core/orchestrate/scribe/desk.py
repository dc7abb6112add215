"""Desk: where runs and schedules are written: here, or by a scribe once there is enough to do."""

from __future__ import annotations

import logging
import threading
from typing import Any

from orchestrator_core.orchestrate.scribe.process import Scribe
from orchestrator_core.store.base import Store
from orchestrator_core.store.safe import SafeStore

log = logging.getLogger("orchestrator")

HERE = 500
"""Tasks of which runs are written in this process; it takes a scribe a second or two to begin."""

ATTEMPTS = 3
"""Scribes that may fail before nobody is hired any more."""


class Desk:
    """Does requests (see `writing`), one after the other, whatever thread asks.

    A scribe that fails costs nothing but time: what it was to do is done here.
    """

    def __init__(self, store: SafeStore, its_own: Store | None, here: int = HERE) -> None:
        """`its_own`: what a scribe opens in its process; None if there is to be none."""
        self._store, self._its_own = store, its_own
        self._here, self._attempts = here, ATTEMPTS
        self._scribe: Scribe | None = None
        self._one_by_one = threading.Lock()

    def do(self, request: Any, tasks: int) -> Any:
        """The answer to a request that concerns so many tasks."""
        with self._one_by_one:
            return self._do(request, tasks)

    def _do(self, request: Any, tasks: int) -> Any:
        self._here -= tasks
        # A store that fails is tried again here, where it is said.
        if self._its_own is not None and self._here < 0 and self._store.working:
            try:
                return self._hired(self._its_own).do(request)
            except RuntimeError as error:
                log.debug("the scribe could not do it: %s", error)
            except Exception:
                log.debug("the scribe is gone", exc_info=True)
                self._dismiss()
        return request.do(self._store)

    def close(self) -> None:
        """End the scribe's process, at once if need be; what is still to be done is done here."""
        self._its_own = None
        self._end()

    def _end(self) -> None:
        scribe, self._scribe = self._scribe, None
        if scribe is not None:
            scribe.end()

    def _hired(self, its_own: Store) -> Scribe:
        if self._scribe is not None and self._scribe.has_left:
            self._end()
        if self._scribe is None:
            self._scribe = Scribe(its_own)
        return self._scribe

    def _dismiss(self) -> None:
        self._end()
        self._attempts -= 1
        if not self._attempts:
            self._its_own = None
