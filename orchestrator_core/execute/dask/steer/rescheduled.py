"""Rescheduled: a task that raises `distributed.Reschedule` is not sent back to where it was.

It says that it is to run elsewhere. A plan that knows nothing of that would send it to the same
worker again and again; so for this task the plan has ended, and no later one is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from orchestrator_core.execute.dask.living import Living
from orchestrator_core.execute.dask.overheard import Overheard
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
        self._overheard = Overheard(scheduler, MESSAGE, self._heard)
        self._told = told
        self._keys = Living(self._tasks)

    def install(self) -> None:
        """Begin to listen."""
        self._overheard.install()

    def uninstall(self) -> None:
        """Listen no more."""
        self._overheard.uninstall()

    def without(self, slots: Mapping[Key, Slot]) -> Mapping[Key, Slot]:
        """These slots, but for tasks that asked to run elsewhere."""
        if not self._keys:
            return slots
        return {key: slot for key, slot in slots.items() if key not in self._keys}

    def _heard(self, message: Mapping[str, Any]) -> None:
        key = message.get("key")
        if key in self._tasks:
            self._keys.add([key])
            self._told(key)
