"""Rescheduled: a task that raises `distributed.Reschedule` is not sent back to where it was.

It says that it is to run elsewhere. A plan that knows nothing of that would send it to the same
worker again and again; so for this task the plan has ended, and no later one is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from orchestrator_core.execute.directives import Key, Slot

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler

MESSAGE = "reschedule"
"""What a worker sends the scheduler then."""


class Rescheduled:
    """Overhears what workers say to the scheduler, before it decides anew."""

    def __init__(self, scheduler: Scheduler, told: Callable[[Key], None]) -> None:
        """`told`: the keys, one by one; does not raise."""
        self._tasks: Any = scheduler.tasks
        self._handlers: Any = scheduler.stream_handlers
        self._told = told
        self._original: Callable[..., Any] | None = None
        self._keys: set[Key] = set()
        self._listens = False

    def install(self) -> None:
        """Begin to listen."""
        self._original = self._handlers.get(MESSAGE)
        if self._original is not None:
            self._handlers[MESSAGE] = self._heard
            self._listens = True

    def uninstall(self) -> None:
        """Leave the scheduler as it was; where somebody replaced us since, only pass through."""
        self._listens = False
        if self._original is not None and self._handlers.get(MESSAGE) == self._heard:
            self._handlers[MESSAGE] = self._original

    def without(self, slots: Mapping[Key, Slot]) -> Mapping[Key, Slot]:
        """These slots, but for tasks that asked to run elsewhere."""
        if not self._keys:
            return slots
        return {key: slot for key, slot in slots.items() if key not in self._keys}

    def _heard(self, **message: Any) -> Any:
        key = message.get("key")
        if self._listens and key in self._tasks:
            self._keys = {each for each in self._keys if each in self._tasks} | {key}
            self._told(key)
        assert self._original is not None
        return self._original(**message)
