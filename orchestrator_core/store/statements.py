"""Statements that SQLite and Postgres share: insert or replace, better wins, forget the oldest."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, or_, select
from sqlalchemy.dialects import sqlite

from orchestrator_core.store.base import UNFINISHED, ScheduleKey
from orchestrator_core.store.rows import key_columns
from orchestrator_core.store.tables import schedules, task_records

FAILING = task_records.c.status.in_(UNFINISHED) & (
    task_records.c.end_seconds - task_records.c.start_seconds
    > func.coalesce(task_records.c.setup_seconds, 0.0)
)
"""Task records that `store.base.failing` gives."""


def same_key(key: ScheduleKey) -> list[ColumnElement[bool]]:
    return [schedules.c[name] == value for name, value in key_columns(key).items()]


def upsert_better(connection: Connection, row: dict[str, Any]) -> bool:
    """Insert, or replace the row of that key if this one is better, in one statement."""
    statement = _insert_into(connection, schedules).values(row)
    new, old = statement.excluded, schedules.c
    better = or_(
        new.makespan < old.makespan,
        and_(new.makespan == old.makespan, new.lower_bound > old.lower_bound),
    )
    kept = (*ScheduleKey.__slots__, "hits", "flow")
    statement = statement.on_conflict_do_update(
        index_elements=list(ScheduleKey.__slots__),
        set_={name: new[name] for name in row if name not in kept},
        where=better,
    )
    # Not rowcount, which an INSERT does not tell on every driver.
    return connection.execute(statement.returning(schedules.c.id)).first() is not None


def upsert(connection: Connection, table: Table, row: dict[str, Any]) -> None:
    """Insert, or replace the row of that primary key."""
    statement = _insert_into(connection, table).values(row)
    identity = list(table.primary_key.columns.keys())
    others = {name: statement.excluded[name] for name in row if name not in identity}
    connection.execute(statement.on_conflict_do_update(index_elements=identity, set_=others))


def _insert_into(connection: Connection, table: Table) -> Any:
    """The dialect's own INSERT, which knows ON CONFLICT."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # which takes long to load

    return postgresql.insert(table)


def forget(
    connection: Connection,
    table: Table,
    identity: ColumnElement[Any],
    age: ColumnElement[float],
    keep: int,
    where: ColumnElement[bool] | None = None,
) -> None:
    """Delete all but the `keep` newest rows."""
    query = select(identity).order_by(age.desc()).offset(keep)
    if where is not None:
        query = query.where(where)
    connection.execute(delete(table).where(identity.in_(query)))
