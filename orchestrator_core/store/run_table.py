"""The runs of a `ScheduleStore`: the rows of a run, of its tasks and of its cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, select

from orchestrator_core.errors import UnknownRun
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.store.base import RunSummary, storable
from orchestrator_core.store.choose import the_run
from orchestrator_core.store.codec import DamagedBlob
from orchestrator_core.store.database import Database
from orchestrator_core.store.findings import Drop
from orchestrator_core.store.hits import Hits
from orchestrator_core.store.rows import (
    RECORDED,
    clean,
    cluster_row,
    run_record,
    run_row,
    run_summary,
    task_rows,
)
from orchestrator_core.store.statements import forget, upsert
from orchestrator_core.store.tables import cluster_observations, runs, task_records

KEEP_CLUSTERS = 100
"""Different clusters that are kept; those used longest ago go first."""


class Runs:
    """What happened; errors as of `Store`."""

    def __init__(self, database: Database, drop: Drop, hits: Hits, keep: int) -> None:
        """`keep`: runs that are kept of each flow."""
        self._database, self._drop = database, drop
        self._hits, self._keep = hits, keep

    def add(self, run: RunRecord) -> None:
        """The record, instead of an earlier one of that run."""
        run = storable(run)
        row, tasks, cluster = run_row(run), task_rows(run), cluster_row(run)

        def work(connection: Connection) -> None:
            self._hits.write(connection)
            connection.execute(delete(runs).where(runs.c.run_id == row["run_id"]))
            connection.execute(insert(runs), row)
            if tasks:
                connection.execute(insert(task_records), tasks)
            _note_cluster(connection, cluster)
            same_flow = and_(*_of(row["flow"], row["origin"]))
            forget(connection, runs, runs.c.run_id, runs.c.started_at, self._keep, same_flow)

        self._database.write(work)

    def get(self, run_id: str) -> RunRecord:
        asked = clean(run_id)
        alike = select(runs.c.run_id).where(runs.c.run_id.startswith(asked, autoescape=True))
        chosen = the_run(asked, [row.run_id for row in self._rows(alike)])
        record = self._newest(runs.c.run_id == chosen)
        if record is None:
            raise UnknownRun(f"run {chosen!r} was damaged in the database, and has been dropped")
        return record

    def latest(self, flow: str, origin: str | None) -> RunRecord | None:
        """The last one that ended well."""
        return self._newest(and_(*_of(flow, origin), runs.c.status == "ok"))

    def summaries(self, flow: str | None, origin: str | None, limit: int) -> list[RunSummary]:
        columns = [runs.c[name] for name in RunSummary.__slots__]
        query = select(*columns).where(*_of(flow, origin))
        query = query.order_by(runs.c.started_at.desc()).limit(limit)
        return [run_summary(row) for row in self._rows(query)]

    def _rows(self, query: Any) -> Sequence[Row[Any]]:
        return self._database.read(lambda connection: connection.execute(query).all())

    def _newest(self, wanted: ColumnElement[bool]) -> RunRecord | None:
        """The newest such run that is whole; damaged ones are dropped."""
        newest = select(runs).where(wanted).order_by(runs.c.started_at.desc()).limit(1)
        mine = select(*RECORDED).order_by(task_records.c.id)

        def work(connection: Connection) -> tuple[Row[Any], Sequence[Row[Any]]] | None:
            row = connection.execute(newest).first()
            if row is None:
                return None
            return row, connection.execute(mine.where(task_records.c.run_id == row.run_id)).all()

        while (found := self._database.read(work)) is not None:
            try:
                return run_record(*found)
            except DamagedBlob:
                if not self._drop(runs, runs.c.run_id == found[0].run_id):
                    return None
        return None


def _of(flow: str | None, origin: str | None) -> list[ColumnElement[bool]]:
    """Whose runs are meant: those of a name, an origin, or both."""
    wanted = ((runs.c.flow, flow), (runs.c.origin, origin))
    return [column == clean(text) for column, text in wanted if text is not None]


def _note_cluster(connection: Connection, cluster: dict[str, Any]) -> None:
    seen = cluster_observations
    upsert(connection, seen, cluster)
    forget(connection, seen, seen.c.cluster_signature, seen.c.used_at, KEEP_CLUSTERS)
