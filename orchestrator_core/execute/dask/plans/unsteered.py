"""Unsteered: a run whose plan nobody follows, and the course that it would take."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from concurrent.futures import Executor, Future

from orchestrator_core.execute.dask.graphs.followed import Followed
from orchestrator_core.execute.dask.plans.steered import Steered
from orchestrator_core.execute.live import Course

log = logging.getLogger("orchestrator.dask")


class Unsteered:
    """Makes the course off the event loop, when it is first asked for."""

    def __init__(
        self, run: Followed, make: Callable[[], Course | None], executor: Executor
    ) -> None:
        self._run, self._make, self._executor = run, make, executor
        self._made: Future[Steered | None] | None = None

    def steered(self) -> Steered | None:
        """The run on its course; None as long as it is being made, and where there is none."""
        if self._made is None:
            self._made = self._executor.submit(self._follow)
        return self._made.result() if self._made.done() and not self._made.cancelled() else None

    def _follow(self) -> Steered | None:
        try:
            course = self._make()
        except Exception as error:
            log.debug("it cannot be told what is left of a run: %r", error)
            return None
        return None if course is None else Steered(self._run, course, math.inf, prefetch=False)
