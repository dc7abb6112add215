"""The findings of a `ScheduleStore`: the rows of one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, delete, select

from orchestrator_core.store.base import KEEP_FINDINGS, StoredFinding
from orchestrator_core.store.codec import pack, unpack
from orchestrator_core.store.database import Database
from orchestrator_core.store.rows import clean
from orchestrator_core.store.statements import upsert
from orchestrator_core.store.tables import findings
from orchestrator_core.store.whole import whole

Drop = Callable[[Table, ColumnElement[bool]], bool]
"""Forgets damaged rows."""


class Findings:
    """What was found about graphs; errors as of `Store`."""

    def __init__(self, database: Database, drop: Drop) -> None:
        self._database, self._drop = database, drop

    def put(self, found: StoredFinding) -> None:
        row = {
            "graph_signature": clean(found.graph_signature),
            "crowd": clean(found.crowd),
            "updated_at": float(found.updated_at),
            "body": pack(found.text),
        }

        def work(connection: Connection) -> None:
            upsert(connection, findings, row)
            when = findings.c.updated_at
            last = select(when).order_by(when.desc()).offset(KEEP_FINDINGS).limit(1)
            connection.execute(delete(findings).where(when <= last.scalar_subquery()))

        self._database.write(work)

    def get(self, graph_signature: str, crowd: str) -> StoredFinding | None:
        found = self._whole(select(findings).where(*_same(graph_signature, crowd)), 1)
        return found[0] if found else None

    def newest(self, limit: int) -> list[StoredFinding]:
        newest = select(findings).order_by(findings.c.updated_at.desc()).limit(limit)
        return self._whole(newest, limit)

    def _whole(self, query: Select[Any], limit: int) -> list[StoredFinding]:
        """Those that are as they were written; damaged ones are dropped."""

        def drop(row: Row[Any]) -> bool:
            graph, crowd = _same(row.graph_signature, row.crowd)
            return self._drop(findings, graph & crowd)

        return whole(
            lambda: self._database.read(lambda connection: connection.execute(query).all()),
            _finding,
            drop,
            limit,
        )


def _same(graph_signature: str, crowd: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return findings.c.graph_signature == clean(graph_signature), findings.c.crowd == clean(crowd)


def _finding(row: Row[Any]) -> StoredFinding:
    return StoredFinding(row.graph_signature, row.crowd, unpack(row.body), row.updated_at)
