"""The advisor of a flow run, made ready in a thread while the flow starts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread
from time import monotonic

from orchestrator_core.execute.advice import Advisor

log = logging.getLogger("orchestrator")

READY_SECONDS = 10.0
"""The epochs of a flow wait at most this long, all of them together, for planners and the past to
be loaded; whoever records the run, once more."""

CLOSING_SECONDS = 5.0
"""The end of a flow waits at most this long for what was learned to be written."""


class NotReady(RuntimeError):
    """The advisor was not there in time."""


class AdvisorOnCall:
    """Makes an advisor in the background, and closes it there.

    Args:
        make: returns the advisor; may take a second.
        warm_up: called when the advisor can be asked already; may take many seconds.
        owned: close the advisor at the end? Not if somebody else handed it in.
    """

    def __init__(
        self,
        make: Callable[[], Advisor],
        *,
        warm_up: Callable[[Advisor], None] = lambda advisor: None,
        owned: bool,
    ) -> None:
        self._make, self._warm_up, self._owned = make, warm_up, owned
        self._made: Advisor | None = None
        self._failure: Exception | None = None
        self._done = Event()
        self._patience = READY_SECONDS
        self._preparing = Thread(target=self._prepare, name="advisor", daemon=True)
        self._preparing.start()

    def get(self, seconds: float | None = None) -> Advisor:
        """The advisor.

        Args:
            seconds: that may pass; by default what is left of `READY_SECONDS`.

        Raises:
            NotReady: if it takes longer. Exception: what making it raised.
        """
        begun = monotonic()
        is_there = self._done.wait(self._patience if seconds is None else seconds)
        self._patience = max(0.0, self._patience - (monotonic() - begun))
        if not is_there:
            longest = READY_SECONDS if seconds is None else seconds
            raise NotReady(f"planning was not ready within {longest:g} s")
        if self._failure is not None:
            raise self._failure
        assert self._made is not None
        return self._made

    def close(self) -> None:
        """Let it write what is still to be written; wait for that, but not for long."""
        if self._owned:
            thread = Thread(target=self._close, name="advisor-close", daemon=True)
            thread.start()
            thread.join(CLOSING_SECONDS)

    def _prepare(self) -> None:
        try:
            made = self._made = self._make()
        except Exception as error:
            self._failure = error
            return
        finally:
            self._done.set()
        try:
            self._warm_up(made)
        except Exception:
            log.debug("the advisor could not warm up; its first answer is slow", exc_info=True)

    def _close(self) -> None:
        # Whatever it still loads is for a later question, and may take minutes.
        self._done.wait()
        if self._made is not None:
            self._made.close()
