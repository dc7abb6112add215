"""Database: one SQLite file or Postgres database, opened late, and again when it is replaced.

A file that was deleted or swapped is noticed before the next transaction; an SQLite file that is
damaged is renamed to ``*.corrupt-<time>`` and replaced by a new one, once for each call. What never
was an SQLite file is somebody's own, and left as it is.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL

from orchestrator_core.errors import SchemaMismatch, StoreError
from orchestrator_core.store.engine import (
    BUSY_SECONDS,
    DATABASE_ERRORS,
    is_damage,
    open_engine,
    writing,
)
from orchestrator_core.store.location import (
    create_private,
    masked,
    read_only,
    sqlite_path,
    without_password,
)
from orchestrator_core.store.schema import HEAD, bring, check

T = TypeVar("T")
_Identity = tuple[int, int] | None

MAGIC = b"SQLite format 3\0"
"""What each SQLite file begins with."""

logger = logging.getLogger(__name__)


class Database:
    """Runs transactions; safe from several threads and processes.

    `set_aside` counts how many damaged files were renamed; without `mend` none ever is.
    """

    def __init__(self, url: URL, *, busy_seconds: float = BUSY_SECONDS, mend: bool = True) -> None:
        self.url = url
        self.mend = mend
        self.set_aside = 0
        self._path = sqlite_path(url)
        self.busy_seconds = busy_seconds
        self._engine: Engine | None = None
        self._identity: _Identity = None
        self._lock = threading.Lock()
        self._closed = False

    def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` gives, inside one transaction that only reads.

        Raises:
            StoreError: if the database cannot be used.
        """
        return self._guarded(work, write=False)

    def write(self, work: Callable[[Connection], T]) -> T:
        """What `work` gives, inside one transaction that writes: all of it, or nothing.

        Raises:
            StoreError: if the database cannot be used.
        """
        return self._guarded(work, write=True)

    def close(self) -> None:
        """Give back every connection; later calls raise `StoreError`."""
        with self._lock:
            self._closed = True
            self._drop_engine()

    def _guarded(self, work: Callable[[Connection], T], *, write: bool) -> T:
        engine = None
        try:
            try:
                engine = self._open()
                return self._attempt(engine, work, write=write)
            except DATABASE_ERRORS as error:
                if not is_damage(error):
                    raise
                self._check_mendable()
                self._put_aside(engine)
                return self._attempt(self._open(), work, write=write)
        except (*DATABASE_ERRORS, OSError, ValueError, OverflowError) as error:
            reason = without_password(str(getattr(error, "orig", error)), self.url)
            raise StoreError(
                f"the database {masked(self.url)} cannot be {'written' if write else 'read'}: "
                f"{reason.strip()}"
            ) from None

    def _attempt(self, engine: Engine, work: Callable[[Connection], T], *, write: bool) -> T:
        with engine.connect() as connection:
            if write:
                writing(connection)
            with connection.begin():
                return work(connection)

    def _open(self) -> Engine:
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {masked(self.url)} is closed; open a new one")
            if self._engine is not None and self._identity != _identity(self._path):
                self._drop_engine()
            if self._engine is None:
                self._engine = self._ready()
                # Who forgets to close it leaves no connection open.
                self._forgotten = weakref.finalize(self, self._engine.dispose)
                self._forgotten.atexit = False
            return self._engine

    def _ready(self) -> Engine:
        """An engine whose database is at the head."""
        if self._path is not None and not read_only(self.url):
            create_private(self._path)
        self._identity = _identity(self._path)
        engine = open_engine(self.url, busy_seconds=self.busy_seconds)
        try:
            with engine.connect() as connection:
                fits = check(connection)
            if not fits:
                self._bring_up()
        except BaseException:
            engine.dispose()
            raise
        return engine

    def _bring_up(self) -> None:
        if read_only(self.url):
            raise SchemaMismatch(
                f"{masked(self.url)} may only be read, and is no database of revision {HEAD}; "
                "type: orchestrator db upgrade --db PATH"
            )
        # If somebody else is at it, as where two flows are the first on a machine, it is done in a
        # second or two: who gave up sooner would go without what they learn for a minute.
        patience = max(self.busy_seconds, BUSY_SECONDS)
        engine = open_engine(self.url, foreign_keys=False, busy_seconds=patience)
        try:
            with engine.connect() as connection, writing(connection).begin():
                bring(connection)
        finally:
            engine.dispose()

    def _check_mendable(self) -> None:
        """
        Raises:
            StoreError: where a damaged file is not to be replaced, or was never a database.
        """
        path = self._path
        if path is not None and not _was_sqlite(path):
            raise StoreError(
                f"{path} is no SQLite database, and was left as it is: "
                "name another file, or remove it"
            )
        if not self.mend:
            raise StoreError(
                f"the database {masked(self.url)} is damaged: the next run sets it aside and "
                "begins a new one; to look at it: orchestrator db check"
            )

    def _put_aside(self, damaged: Engine | None) -> None:
        """Rename the file that was damaged for this engine (None: it could not be opened), unless
        somebody else has done so since."""
        with self._lock:
            path, identity = self._path, self._identity
            if path is None or self._engine is not damaged or read_only(self.url):
                return
            self._drop_engine()
            if identity is None or _identity(path) != identity:
                return
            aside = _unused(path.with_name(f"{path.name}.corrupt-{_now()}"))
            for suffix in ("", "-wal", "-shm"):
                part = path.with_name(path.name + suffix)
                if part.exists():
                    os.replace(part, aside.with_name(aside.name + suffix))
            self.set_aside += 1
            logger.warning("%s was damaged: it is now %s, and a new one begins", path, aside.name)

    def _drop_engine(self) -> None:
        if self._engine is not None:
            self._forgotten()
        self._engine = None
        self._identity = None


def _was_sqlite(path: Path) -> bool:
    """Does the file begin as SQLite's do, as far as it goes?"""
    try:
        with path.open("rb") as file:
            return MAGIC.startswith(file.read(len(MAGIC)))
    except OSError:
        return False


def _now() -> str:
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime())


def _unused(path: Path) -> Path:
    """This name, or with a number where a file has it: one second may see two of them."""
    names = (path.with_name(f"{path.name}-{k}") if k else path for k in itertools.count())
    return next(name for name in names if not name.exists())


def _identity(path: Path | None) -> _Identity:
    """Which file this is, whatever its name; None if there is none."""
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
