"""Uses of stored schedules that are still to be written: looking up never writes."""

from __future__ import annotations

import threading
from dataclasses import replace
from time import time

from sqlalchemy import Connection, update

from orchestrator_core.store.base import ScheduleKey, StoredSchedule
from orchestrator_core.store.statements import same_key
from orchestrator_core.store.tables import schedules


class Hits:
    """How often, and when last, each schedule was found since the last `write`."""

    def __init__(self) -> None:
        self._pending: dict[ScheduleKey, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._pending)

    def note(self, key: ScheduleKey) -> None:
        with self._lock:
            hits, _ = self._pending.get(key, (0, 0.0))
            self._pending[key] = (hits + 1, time())

    def added_to(self, found: StoredSchedule) -> StoredSchedule:
        """With those that its row does not know."""
        hits, used_at = self._pending.get(found.key, (0, 0.0))
        return replace(found, hits=found.hits + hits, used_at=max(used_at, found.used_at))

    def write(self, connection: Connection) -> None:
        with self._lock:
            pending, self._pending = self._pending, {}
        for key, (hits, used_at) in pending.items():
            values = {"hits": schedules.c.hits + hits, "used_at": used_at}
            connection.execute(update(schedules).where(*same_key(key)).values(values))

    def forget(self) -> None:
        """They are statistics only, not worth an error at the end."""
        self._pending.clear()
