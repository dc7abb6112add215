"""Living: keys of tasks that are there; in time, those that are gone are forgotten."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from orchestrator_core.execute.directives import Key

MANY = 1000
"""Keys that are not counted until it is looked whether they are still there."""


class Living:
    """Some of the scheduler's tasks, by their keys.

    To look for the tasks of all keys takes time, so that is done when they are twice as many as
    were left the last time.
    """

    def __init__(self, tasks: Container[Any]) -> None:
        """`tasks`: the keys that are there now, whenever it is looked."""
        self._tasks = tasks
        self._keys: set[Key] = set()
        self._look_at = MANY

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, keys: Iterable[Key]) -> None:
        """These are among them from now on."""
        self._keys.update(keys)
        if len(self._keys) > self._look_at:
            self._keys = {key for key in self._keys if key in self._tasks}
            self._look_at = MANY + 2 * len(self._keys)

    def discard(self, key: Key) -> None:
        """It is none of them any more, if it was."""
        self._keys.discard(key)
