"""Uses of stored schedules that are still to be written: looking up never writes."""

from __future__ import annotations

import threading
from dataclasses import replace
from time import time

from sqlalchemy import Connection, case, event, update

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
        """As part of a transaction: what is rolled back is still to be written."""
        with self._lock:
            written = dict(self._pending)
        for key, (hits, used_at) in written.items():
            last = case((schedules.c.used_at > used_at, schedules.c.used_at), else_=used_at)
            values = {"hits": schedules.c.hits + hits, "used_at": last}
            connection.execute(update(schedules).where(*same_key(key)).values(values))
        event.listen(connection, "commit", lambda _: self._settle(written), once=True)

    def _settle(self, written: dict[ScheduleKey, tuple[int, float]]) -> None:
        with self._lock:
            for key, (hits, _) in written.items():
                noted, used_at = self._pending.pop(key, (0, 0.0))
                if noted > hits:
                    self._pending[key] = (noted - hits, used_at)

    def forget(self) -> None:
        """They are statistics only, not worth an error at the end."""
        self._pending.clear()
