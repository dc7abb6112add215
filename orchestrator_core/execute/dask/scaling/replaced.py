"""Replaced: a method of the live scheduler together with the handler of the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from orchestrator_core.execute.dask.steer.override import Override

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler


class Replaced(Override):
    """``scheduler.name``, and the handler of that name, answered by ``answer(original, ...)``."""

    def __init__(self, scheduler: Scheduler, name: str, answer: Callable[..., Any]) -> None:
        super().__init__(scheduler, name, answer)
        self._handlers: Any = scheduler.handlers
        self._handler = self._handlers.get(name)
        if self._handler is not None:
            self._handlers[name] = self._replacement

    def remove(self) -> None:
        if self._handler is not None and self._handlers.get(self._name) is self._replacement:
            self._handlers[self._name] = self._handler
        super().remove()
