"""Overheard: what workers say to the scheduler, before that does anything about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler

Hear = Callable[[Mapping[str, Any]], None]


class Overheard:
    """Messages of one sort, until it is uninstalled; the scheduler gets all of them."""

    def __init__(self, scheduler: Scheduler, message: str, hear: Hear) -> None:
        """`hear` is given what each message says; it does not raise."""
        self._handlers: dict[str, Any] = scheduler.stream_handlers
        self._message, self._hear = message, hear
        self._original: Callable[..., Any] | None = None
        self._listens = False

    def install(self) -> None:
        """Begin to listen, if there are such messages."""
        self._original = self._handlers.get(self._message)
        if self._original is not None:
            self._handlers[self._message] = self._heard
            self._listens = True

    def uninstall(self) -> None:
        """Leave the scheduler as it was; where somebody replaced us since, only pass through."""
        self._listens = False
        if self._original is not None and self._handlers.get(self._message) == self._heard:
            self._handlers[self._message] = self._original

    def _heard(self, **message: Any) -> Any:
        if self._listens:
            self._hear(message)
        assert self._original is not None
        return self._original(**message)
