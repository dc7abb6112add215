"""MemoryStore: the contract in its plainest form, for tests and for one process without a disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from time import time

from orchestrator_core.costs.observation import Observation
from orchestrator_core.errors import StoreError
from orchestrator_core.execute.record import RunRecord, TaskRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.store.base import (
    KEEP_FINDINGS,
    KEEP_RUNS,
    KEEP_SCHEDULES,
    RunSummary,
    ScheduleKey,
    StoredFinding,
    StoredSchedule,
    failing,
    features_of,
    observation_of,
    storable,
    summary_of,
    teaching,
)
from orchestrator_core.store.choose import beats, the_run


class MemoryStore:
    """A `Store` that forgets when the process ends; the reference for the others."""

    def __init__(self, *, keep_schedules: int = KEEP_SCHEDULES, keep_runs: int = KEEP_RUNS) -> None:
        self._keep_schedules, self._keep_runs = keep_schedules, keep_runs
        self._schedules: dict[ScheduleKey, StoredSchedule] = {}
        self._runs: dict[str, RunRecord] = {}
        self._costs: dict[str, bytes] = {}
        self._findings: dict[tuple[str, str], StoredFinding] = {}
        self._lock = threading.RLock()
        self._closed = False

    @property
    def dropped(self) -> int:
        return 0

    def find(self, key: ScheduleKey) -> StoredSchedule | None:
        with self._open():
            found = self._schedules.get(key)
            if found is None:
                return None
            found = replace(found, hits=found.hits + 1, used_at=max(time(), found.used_at))
            self._schedules[key] = found
            return found

    def find_near(self, key: ScheduleKey) -> StoredSchedule | None:
        with self._open():
            near = [
                stored
                for stored in self._schedules.values()
                if stored.key != key and replace(stored.key, cost_bucket=key.cost_bucket) == key
            ]
            return max(near, key=lambda stored: stored.used_at, default=None)

    def put(self, stored: StoredSchedule) -> bool:
        with self._open():
            old = self._schedules.get(stored.key)
            if old is not None and not beats(stored, old):
                return False
            if old is not None:
                stored = replace(stored, hits=old.hits, flow=old.flow)
            self._schedules[stored.key] = stored
            for excess in self.schedules(limit=len(self._schedules))[self._keep_schedules :]:
                del self._schedules[excess.key]
            return stored.key in self._schedules

    def schedules(
        self, *, flow: str | None = None, graph_signature: str | None = None, limit: int = 100
    ) -> list[StoredSchedule]:
        with self._open():
            chosen = [
                stored
                for stored in self._schedules.values()
                if flow in (None, stored.flow)
                and graph_signature in (None, stored.key.graph_signature)
            ]
            return sorted(chosen, key=lambda stored: stored.used_at, reverse=True)[:limit]

    def add_run(self, run: RunRecord) -> None:
        with self._open():
            self._runs.pop(run.run_id, None)
            self._runs[run.run_id] = storable(run)
            for excess in self._newest(run.flow, run.origin)[self._keep_runs :]:
                del self._runs[excess.run_id]

    def run(self, run_id: str) -> RunRecord:
        with self._open():
            return self._runs[the_run(run_id, self._runs)]

    def runs(
        self, *, flow: str | None = None, origin: str | None = None, limit: int = 50
    ) -> list[RunSummary]:
        with self._open():
            return [summary_of(run) for run in self._newest(flow, origin)[:limit]]

    def latest_run(self, flow: str, origin: str | None = None) -> RunRecord | None:
        with self._open():
            return next((run for run in self._newest(flow, origin) if run.status == "ok"), None)

    def clusters(self, *, limit: int = 10) -> list[Cluster]:
        with self._open():
            newest: dict[str, Cluster] = {}
            for run in self._newest(None):
                newest.setdefault(run.cluster_signature, run.cluster)
            return list(newest.values())[:limit]

    def kinds(self) -> list[str]:
        with self._open():
            runs = self._runs.values()
            return sorted({r.kind for run in runs for r in (*teaching(run), *failing(run))})

    def observations(self, kinds: Collection[str], limit_per_kind: int = 2000) -> list[Observation]:
        with self._open():
            found: dict[str, list[Observation]] = {}
            for kind in dict.fromkeys(kinds):
                found[kind] = self._observed(kind, teaching) or self._observed(kind, failing)
            return [each for rows in found.values() for each in rows[:limit_per_kind]]

    def _observed(
        self, kind: str, chosen: Callable[[RunRecord], list[TaskRecord]]
    ) -> list[Observation]:
        return [
            observation_of(record, run.run_id, features_of(record, run))
            for run in reversed(self._runs.values())
            for record in reversed(chosen(run))
            if record.kind == kind
        ]

    def put_costs(self, name: str, text: bytes) -> None:
        with self._open():
            self._costs[name] = bytes(text)

    def costs(self, name: str) -> bytes | None:
        with self._open():
            return self._costs.get(name)

    def put_finding(self, found: StoredFinding) -> None:
        with self._open():
            self._findings[found.graph_signature, found.crowd] = found
            for excess in self.findings(limit=len(self._findings))[KEEP_FINDINGS:]:
                del self._findings[excess.graph_signature, excess.crowd]

    def finding(self, graph_signature: str, crowd: str) -> StoredFinding | None:
        with self._open():
            return self._findings.get((graph_signature, crowd))

    def findings(self, *, limit: int = 100) -> list[StoredFinding]:
        with self._open():
            newest = sorted(self._findings.values(), key=lambda each: -each.updated_at)
            return newest[:limit]

    def close(self) -> None:
        self._closed = True

    def _open(self) -> threading.RLock:
        if self._closed:
            raise StoreError("the store in memory is closed; make a new one")
        return self._lock

    def _newest(self, flow: str | None, origin: str | None = None) -> list[RunRecord]:
        chosen = [
            run
            for run in self._runs.values()
            if flow in (None, run.flow) and origin in (None, run.origin)
        ]
        return sorted(chosen, key=lambda run: run.started_at, reverse=True)
