"""The database's version: creating it, upgrading it, and refusing what this version cannot read.

A whole upgrade is one transaction that holds the database's own lock (SQLite: the write lock;
Postgres: an advisory lock), so that two processes that start at once do not upgrade twice. An
SQLite file is upgraded by whoever opens it; a shared Postgres only by `orchestrator db upgrade`.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.engine import URL

from orchestrator_core.errors import SchemaMismatch, StoreError
from orchestrator_core.store.engine import DATABASE_ERRORS, open_engine, writing
from orchestrator_core.store.location import (
    create_private,
    masked,
    reason_of,
    sqlite_path,
    to_url,
)

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008")
"""Every revision of the database, the oldest first; `migrations/` holds the same."""

HEAD = REVISIONS[-1]
"""The revision that this version reads and writes."""

_ADVISORY_LOCK = 7_340_021_889
_ALEMBIC = threading.Lock()  # Alembic keeps its context in module globals.


def migrations_dir() -> Path:
    """The folder of the migrations: inside the installed package, or beside it in a checkout.

    Raises:
        StoreError: if there is neither.
    """
    here = Path(__file__).resolve()
    for folder in (here.parent / "_migrations", here.parents[2] / "migrations"):
        if (folder / "env.py").is_file():
            return folder
    raise StoreError(
        f"the migrations are neither in {here.parent / '_migrations'} nor in "
        f"{here.parents[2] / 'migrations'}; install the package again"
    )


def current(connection: Connection) -> str | None:
    """The revision that the database is at; None if it is new."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if revision is None else str(revision)


def upgrade(
    location: str | os.PathLike[str] | URL | None = None, revision: str | None = None
) -> str:
    """Create the database or bring it to a revision (default: the head); says what was done.

    Raises:
        SchemaMismatch: if a newer version wrote it. StoreError: if it cannot be opened or written.
    """
    url, revision = to_url(location), revision or HEAD
    path = sqlite_path(url)
    engine = None
    try:
        engine = open_engine(url, foreign_keys=False)
        if path is not None:
            create_private(path)
        with engine.connect() as connection, writing(connection).begin():
            before = bring(connection, revision)
    except (*DATABASE_ERRORS, OSError) as error:
        reason = reason_of(error, url)
        raise StoreError(f"the database {masked(url)} cannot be upgraded: {reason}") from None
    finally:
        if engine is not None:
            engine.dispose()
    if before == revision:
        return f"{masked(url)} is at revision {revision} already"
    return f"{masked(url)}: revision {before or 'none'} -> {revision}"


def bring(connection: Connection, revision: str | None = None) -> str | None:
    """Bring the database to a revision (default: the head), up or down; returns where it was.

    All inside the transaction of the connection, which must have begun.

    Raises:
        SchemaMismatch: if it is at a revision that this version does not know.
    """
    revision = revision or HEAD
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})"))
    before = current(connection)
    if before is not None and before not in REVISIONS:
        raise _too_new(before)
    if before == revision:
        return before
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(migrations_dir()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    down = before is not None and (
        revision == "base" or REVISIONS.index(revision) < REVISIONS.index(before)
    )
    with _ALEMBIC:
        (command.downgrade if down else command.upgrade)(config, revision)
    return before


def check(connection: Connection) -> bool:
    """Is the database at the head? False if it is new, or older and may be upgraded.

    Raises:
        SchemaMismatch: if a newer version wrote it, or it is shared and older; with the remedy.
    """
    revision = current(connection)
    if revision == HEAD:
        return True
    if revision is not None and revision not in REVISIONS:
        raise _too_new(revision)
    if revision is not None and connection.dialect.name != "sqlite":
        raise SchemaMismatch(
            f"the database is at revision {revision}, this version needs {HEAD}; "
            f"type: orchestrator db upgrade --db '{masked(connection.engine.url)}'"
        )
    return False


def _too_new(revision: str) -> SchemaMismatch:
    return SchemaMismatch(
        f"the database is at revision {revision}; this version knows {', '.join(REVISIONS)}. "
        "A newer version or another program wrote it; "
        "install the newest version of this package, or set ORCHESTRATOR_DB to another database"
    )
