"""Engines: how SQLite and Postgres are opened so that several threads and processes get along.

SQLite: write-ahead log, so that readers and the one writer do not block each other; our own BEGIN,
IMMEDIATE where a transaction writes, since a deferred one that turns from reading to writing fails
at once, busy timeout or not.
"""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from orchestrator_core.errors import StoreError
from orchestrator_core.store.location import read_only

BUSY_SECONDS = 10.0
"""How long a statement waits for another process's lock."""

DATABASE_ERRORS = (SQLAlchemyError, sqlite3.Error)
"""What a database can raise; the second one while a connection is being set up."""

_WRITES = "orchestrator_writes"


def open_engine(
    url: URL, *, foreign_keys: bool = True, busy_seconds: float = BUSY_SECONDS
) -> Engine:
    """An engine for the URL; connects to nothing yet.

    Raises:
        StoreError: if the database's driver is not installed.
    """
    try:
        if url.get_backend_name() != "sqlite":
            connect = {"connect_timeout": max(1, round(busy_seconds))}
            engine = create_engine(
                url, hide_parameters=True, pool_pre_ping=True, connect_args=connect
            )
            _tune_postgres(engine, busy_seconds)
            return engine
        engine = create_engine(url, hide_parameters=True, connect_args={"timeout": busy_seconds})
    except ImportError as error:
        raise StoreError(
            f"the driver of {url.drivername!r} is not installed ({error}); "
            "type: pip install 'psycopg[binary]>=3.2'"
        ) from None
    _tune_sqlite(engine, foreign_keys, busy_seconds, logged=not read_only(url))
    return engine


def writing(connection: Connection) -> Connection:
    """The connection, told before it begins that its transaction writes."""
    return connection.execution_options(**{_WRITES: True})


def is_damage(error: BaseException) -> bool:
    """Does the error say that the SQLite file is no database, or a broken one?"""
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorcode", 0) or 0
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _tune_postgres(engine: Engine, busy_seconds: float) -> None:
    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {round(busy_seconds * 1000)}")
        connection.commit()


def _tune_sqlite(engine: Engine, foreign_keys: bool, busy_seconds: float, *, logged: bool) -> None:
    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        try:
            cursor.execute(f"PRAGMA busy_timeout={round(busy_seconds * 1000)}")
            if logged:
                _use_write_ahead_log(cursor, busy_seconds)
            cursor.execute("PRAGMA synchronous=NORMAL")
            cursor.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")
        finally:
            cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _use_write_ahead_log(cursor: Any, busy_seconds: float) -> None:
    """The switch needs the file for itself, and SQLite does not wait for that: so we do."""
    until = time.monotonic() + busy_seconds
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            code = error.sqlite_errorcode & 0xFF
            if code == sqlite3.SQLITE_READONLY:
                return  # It can be read as it is; who writes is told.
            if code != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(0.02)
        else:
            return
