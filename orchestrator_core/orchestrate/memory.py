"""Memory: the store as planning sees it. Reads that cannot fail, writes in the background."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress

from orchestrator_core.errors import OrchestratorError
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Worker
from orchestrator_core.graph.finer_kind import plain_kind
from orchestrator_core.learn.estimator import fit
from orchestrator_core.learn.history_costs import HistoryCosts
from orchestrator_core.store.base import ScheduleKey, Store, StoredSchedule
from orchestrator_core.store.safe import SafeStore
from orchestrator_core.store.sql import ScheduleStore
from orchestrator_core.store.writer import BackgroundWriter

CLOSING_SECONDS = 10.0
"""How long `close` waits for writes that are under way."""

BUSY_SECONDS = 1.0
"""How long a look-up waits for a database that is busy."""

REMEMBERED = 1000
"""Schedules that are kept in memory."""

NOTHING_LEARNED = fit(())

RECENT = 64
"""Runs that are looked at again when a process starts."""

Speeds = tuple[tuple[str, float], ...]
"""Declared speed of each kind of worker."""


class Memory:
    """Learned costs and known schedules.

    Args:
        store: a `Store`, or where one is (URL or path); default: the user's own.
        in_memory: answer only from what was loaded by `refresh`; else ask the database each time.
    """

    def __init__(self, store: Store | str | None, *, in_memory: bool) -> None:
        self._owns_store = store is None or isinstance(store, str)
        if store is None or isinstance(store, str):
            store = ScheduleStore(store, busy_seconds=BUSY_SECONDS)
        self._store = SafeStore(store)
        self._writer = BackgroundWriter()
        self._in_memory = in_memory
        self._learned = NOTHING_LEARNED
        self._fitted: dict[tuple[frozenset[str], Speeds], HistoryCosts] = {}
        self._schedules: dict[ScheduleKey, StoredSchedule] = {}

    def refresh(self) -> bool:
        """Load the past; returns whether there is any. Waits for the database."""
        clusters = self._store.clusters(limit=1)
        if clusters and self._in_memory:
            self._learned = self._fit(self._store.kinds(), _speeds(clusters[0].workers))
            stored = self._store.schedules(limit=REMEMBERED)
            self._schedules = {schedule.key: schedule for schedule in stored}
        return bool(clusters)

    def costs(self, kinds: Collection[str], workers: Iterable[Worker]) -> HistoryCosts:
        """What earlier runs taught about these kinds, for workers like these."""
        if self._in_memory:
            return self._learned
        wanted = frozenset(kinds), _speeds(workers)
        if wanted not in self._fitted:
            self._fitted[wanted] = self._fit(*wanted)
        return self._fitted[wanted]

    def _fit(self, kinds: Collection[str], speeds: Speeds) -> HistoryCosts:
        return fit(self._store.observations(kinds), dict(speeds))

    def find(self, key: ScheduleKey) -> StoredSchedule | None:
        """The stored schedule of this key."""
        return self._schedules.get(key) if self._in_memory else self._store.find(key)

    def runs(self) -> list[RunRecord]:
        """The latest runs, the newest first. Waits for the database."""
        found = []
        for line in self._store.runs(limit=RECENT):
            # One that cannot be read teaches nothing.
            with suppress(OrchestratorError):
                found.append(self._store.run(line.run_id))
        return found

    def keep(self, stored: StoredSchedule) -> None:
        """Store a schedule, in the background."""
        if self._in_memory and len(self._schedules) < REMEMBERED:
            self._schedules[stored.key] = stored
        self._writer.submit(lambda: self._store.put(stored))

    def remember(self, run: RunRecord) -> None:
        """Store a run and learn from it, in the background."""
        self._writer.submit(lambda: self._learn(run))

    def _learn(self, run: RunRecord) -> None:
        self._store.add_run(run)
        self._fitted = {}
        if self._in_memory:
            self._learned = self._fit(self._store.kinds(), _speeds(run.cluster.workers))

    def close(self) -> None:
        """Finish writing, within `CLOSING_SECONDS`."""
        self._writer.flush(CLOSING_SECONDS)
        self._writer.close()
        if self._owns_store:
            self._store.close()


def _speeds(workers: Iterable[Worker]) -> Speeds:
    """The declared speed of each kind of worker."""
    return tuple(sorted({(plain_kind(worker.kind), worker.speed) for worker in workers}))
