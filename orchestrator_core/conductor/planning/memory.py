"""Graphs that this process has planned: who makes the same function again need not wait again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from orchestrator_core.conductor.planning.planned import Planned

MOST_GRAPHS = 64
MOST_CONSTANTS = 2**20
"""Bytes: graphs that carry more are not kept, since they would keep these in memory."""


class Memory:
    """The graphs used last. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Any, Planned] = OrderedDict()

    def find(self, key: Any) -> Planned | None:
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def keep(self, key: Any, held: int, planned: Planned) -> None:
        """Args: held: bytes of constants that the key keeps in memory."""
        if held > MOST_CONSTANTS:
            return
        with self._lock:
            self._known[key] = planned
            while len(self._known) > MOST_GRAPHS:
                self._known.popitem(last=False)

    def forget(self) -> None:
        """All of it."""
        with self._lock:
            self._known.clear()


MEMORY = Memory()
