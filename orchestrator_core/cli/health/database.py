"""Is the database there, current, and for its owner only? Looks, and changes nothing."""

from __future__ import annotations

import shlex
import stat
from pathlib import Path
from urllib.parse import quote

from orchestrator_core.cli.health.check import Check, bad, good, warning
from orchestrator_core.cli.health.writable import may_write
from orchestrator_core.errors import SchemaMismatch, StoreError

NAME = "database"
PATIENCE_SECONDS = 5.0
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_database(location: str | None = None) -> list[Check]:
    """The database at a URL or path, or the default one."""
    from orchestrator_core.store.database import was_sqlite
    from orchestrator_core.store.location import masked, read_only, sqlite_path, to_url

    try:
        url = to_url(location)
    except StoreError as error:
        return [bad(NAME, str(error), "set ORCHESTRATOR_DB to a URL or a path, or unset it")]
    path = sqlite_path(url)
    if path is None:
        return [_check_content(location, masked(url))]
    if not may_write(path.parent) and not read_only(url):
        return [_locked_out(path)]
    if not path.exists():
        return [good(NAME, f"{path} is not there yet; it is made at the first run")]
    if path.is_dir():
        return [bad(NAME, f"{path} is a folder", f"name a file, such as {path / 'schedules.db'}")]
    checks = [_check_content(location, str(path))]
    # What never was a database may be a file of the system, whose rights are as they have to be.
    return [*checks, _check_owner(path)] if path.is_file() and was_sqlite(path) else checks


def _locked_out(path: Path) -> Check:
    """SQLite makes files beside its own even to change a row."""
    return bad(
        NAME,
        f"no file can be made in {path.parent}: nothing is remembered from run to run",
        f"make {path.parent} a folder that can be written, or set ORCHESTRATOR_DB to a path in one",
    )


def _check_content(location: str | None, shown: str) -> Check:
    from orchestrator_core.store import schema
    from orchestrator_core.store.engine import DATABASE_ERRORS, open_engine
    from orchestrator_core.store.location import reason_of, sqlite_path, to_url

    url = to_url(location)
    path = sqlite_path(url)
    if path is not None:
        url = url.set(database=f"file:{quote(str(path))}", query={"mode": "ro", "uri": "true"})
    engine = None
    try:
        engine = open_engine(url, busy_seconds=PATIENCE_SECONDS)
        with engine.connect() as connection:
            current = schema.check(connection)
    except SchemaMismatch as error:
        return bad(NAME, f"{shown} does not fit this version", str(error))
    except (*DATABASE_ERRORS, StoreError, OSError) as error:
        reason = reason_of(error, url)
        mend = "check the address and the rights, or set ORCHESTRATOR_DB to another database"
        return bad(NAME, f"{shown} cannot be read: {reason}", mend)
    finally:
        if engine is not None:
            engine.dispose()
    if not current:
        which = "" if location is None else f" --db {shlex.quote(shown)}"
        mend = f"type: orchestrator db upgrade{which}"
        return warning(NAME, f"{shown} is older than this version", mend)
    return good(NAME, f"{shown} is at revision {schema.HEAD}")


def _check_owner(path: Path) -> Check:
    name, mode = "database file", stat.S_IMODE(path.stat().st_mode)
    if mode & OTHERS:
        return bad(
            name,
            f"has mode {mode:04o}: others may read the names of your tasks",
            f"type: chmod 600 {shlex.quote(str(path))}",
        )
    return good(name, f"has mode {mode:04o}: for its owner only")
