"""ScheduleStore: the store in SQLite or Postgres.

Looking up never writes: hits are counted in memory and written with the next record. Records are
compressed JSON with a digest (`codec.py`); what does not fit its digest is dropped and counted.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from time import time
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, delete, select
from sqlalchemy.engine import URL

from orchestrator_core.costs.observation import Observation
from orchestrator_core.errors import StoreError
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.store.base import (
    KEEP_RUNS,
    KEEP_SCHEDULES,
    RunSummary,
    ScheduleKey,
    StoredFinding,
    StoredSchedule,
)
from orchestrator_core.store.codec import DamagedBlob, pack, unpack, unpack_cluster
from orchestrator_core.store.database import Database
from orchestrator_core.store.engine import BUSY_SECONDS
from orchestrator_core.store.findings import Findings
from orchestrator_core.store.hits import Hits
from orchestrator_core.store.location import masked, to_url
from orchestrator_core.store.rows import (
    OBSERVED,
    clean,
    key_columns,
    observation,
    schedule_row,
    stored_schedule,
)
from orchestrator_core.store.run_table import Runs
from orchestrator_core.store.statements import FAILING, forget, same_key, upsert, upsert_better
from orchestrator_core.store.tables import (
    cluster_observations,
    cost_models,
    schedules,
    task_records,
)
from orchestrator_core.store.whole import whole


class ScheduleStore:
    """A `Store` in an SQLite file or a Postgres database; opened at the first use.

    ::

        store = ScheduleStore("schedules.db")
        for run in store.runs(limit=5):
            print(run.flow, run.seconds, run.predicted)
        store.close()
    """

    def __init__(
        self,
        url: str | os.PathLike[str] | URL | None = None,
        *,
        keep_schedules: int = KEEP_SCHEDULES,
        keep_runs: int = KEEP_RUNS,
        busy_seconds: float = BUSY_SECONDS,
        mend: bool = True,
    ) -> None:
        """The store at an URL or at the path of an SQLite file.

        Args:
            url: default: `ORCHESTRATOR_DB`, or a file in the user's data directory.
            keep_schedules: schedules that are kept. keep_runs: runs that are kept of each flow.
            busy_seconds: how long to wait for a lock or a server before giving up.
            mend: may a damaged file be set aside for a new one?

        Raises:
            StoreError: if the URL cannot be read.
        """
        self._database = Database(to_url(url), busy_seconds=busy_seconds, mend=mend)
        self._keep_schedules, self._keep_runs = keep_schedules, keep_runs
        self._hits = Hits()
        self._lock = threading.Lock()
        self._dropped = 0
        self._findings = Findings(self._database, self._drop)
        self._runs = Runs(self._database, self._drop, self._hits, keep_runs)

    def __reduce__(self) -> tuple[Callable[[], ScheduleStore], tuple[()]]:
        """A copy, such as another process gets, is a store of its own in the same database."""
        database = self._database
        again = partial(
            ScheduleStore,
            database.url,
            keep_schedules=self._keep_schedules,
            keep_runs=self._keep_runs,
            busy_seconds=database.busy_seconds,
            mend=database.mend,
        )
        return again, ()

    @property
    def url(self) -> str:
        """Where the database is, its password masked."""
        return masked(self._database.url)

    @property
    def dropped(self) -> int:
        return self._dropped

    def __repr__(self) -> str:
        return f"ScheduleStore({self.url!r})"

    def find(self, key: ScheduleKey) -> StoredSchedule | None:
        found = self._first_whole(same_key(key))
        if found is None:
            return None
        self._hits.note(key)
        return self._hits.added_to(replace(found, key=key))

    def find_near(self, key: ScheduleKey) -> StoredSchedule | None:
        columns = key_columns(key)
        bucket = columns.pop("cost_bucket")
        others = [schedules.c[name] == value for name, value in columns.items()]
        return self._first_whole([*others, schedules.c.cost_bucket != bucket])

    def put(self, stored: StoredSchedule) -> bool:
        row = schedule_row(stored)

        def work(connection: Connection) -> bool:
            self._hits.write(connection)
            kept = upsert_better(connection, row)
            forget(connection, schedules, schedules.c.id, schedules.c.used_at, self._keep_schedules)
            return kept

        return self._database.write(work)

    def schedules(
        self, *, flow: str | None = None, graph_signature: str | None = None, limit: int = 100
    ) -> list[StoredSchedule]:
        wanted = []
        if flow is not None:
            wanted.append(schedules.c.flow == clean(flow))
        if graph_signature is not None:
            wanted.append(schedules.c.graph_signature == clean(graph_signature))
        found = self._whole(wanted, limit)
        return sorted(map(self._hits.added_to, found), key=lambda s: s.used_at, reverse=True)

    def add_run(self, run: RunRecord) -> None:
        self._runs.add(run)

    def run(self, run_id: str) -> RunRecord:
        return self._runs.get(run_id)

    def runs(
        self, *, flow: str | None = None, origin: str | None = None, limit: int = 50
    ) -> list[RunSummary]:
        return self._runs.summaries(flow, origin, limit)

    def latest_run(self, flow: str, origin: str | None = None) -> RunRecord | None:
        return self._runs.latest(flow, origin)

    def clusters(self, *, limit: int = 10) -> list[Cluster]:
        table = cluster_observations
        query = select(table).order_by(table.c.used_at.desc()).limit(limit)
        return whole(
            lambda: self._rows(query),
            lambda row: unpack_cluster(row.body),
            lambda row: self._drop(table, table.c.cluster_signature == row.cluster_signature),
            limit,
        )

    def kinds(self) -> list[str]:
        kind = task_records.c.kind
        query = select(kind).where(task_records.c.teaches | FAILING).distinct()
        return sorted(row.kind for row in self._rows(query))

    def observations(self, kinds: Collection[str], limit_per_kind: int = 2000) -> list[Observation]:
        table = task_records

        def work(connection: Connection) -> list[Observation]:
            found: list[Observation] = []
            for kind in dict.fromkeys(map(clean, kinds)):
                of_kind = select(*OBSERVED).where(table.c.kind == kind)
                newest = of_kind.order_by(table.c.id.desc()).limit(limit_per_kind)
                rows = connection.execute(newest.where(table.c.teaches)).all()
                if not rows:
                    rows = connection.execute(newest.where(FAILING)).all()
                found.extend(map(observation, rows))
            return found

        return self._database.read(work)

    def put_costs(self, name: str, text: bytes) -> None:
        row = {"name": clean(name), "updated_at": time(), "body": pack(text)}

        self._database.write(lambda connection: upsert(connection, cost_models, row))

    def costs(self, name: str) -> bytes | None:
        chosen = cost_models.c.name == clean(name)
        for row in self._rows(select(cost_models).where(chosen)):
            try:
                return unpack(row.body)
            except DamagedBlob:
                self._drop(cost_models, chosen)
        return None

    def put_finding(self, found: StoredFinding) -> None:
        self._findings.put(found)

    def finding(self, graph_signature: str, crowd: str) -> StoredFinding | None:
        return self._findings.get(graph_signature, crowd)

    def findings(self, *, limit: int = 100) -> list[StoredFinding]:
        return self._findings.newest(limit)

    def close(self) -> None:
        if self._hits:
            try:
                self._database.write(self._hits.write)
            except StoreError:
                self._hits.forget()
        self._database.close()

    def _rows(self, query: Any) -> Sequence[Row[Any]]:
        return self._database.read(lambda connection: connection.execute(query).all())

    def _first_whole(self, wanted: Sequence[ColumnElement[bool]]) -> StoredSchedule | None:
        found = self._whole(wanted, 1)
        return found[0] if found else None

    def _whole(self, wanted: Sequence[ColumnElement[bool]], limit: int) -> list[StoredSchedule]:
        """The last used schedules that are whole; damaged ones are dropped."""
        query = select(schedules).where(*wanted).order_by(schedules.c.used_at.desc()).limit(limit)
        return whole(
            lambda: self._rows(query),
            stored_schedule,
            lambda row: self._drop(schedules, schedules.c.id == row.id),
            limit,
        )

    def _drop(self, table: Table, which: ColumnElement[bool]) -> bool:
        """Forget damaged rows; False if the database does not let us."""
        with self._lock:
            self._dropped += 1
        try:
            self._database.write(lambda connection: connection.execute(delete(table).where(which)))
        except StoreError:
            return False
        return True
