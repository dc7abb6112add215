"""Database: one SQLite file or Postgres database, opened late, and again when it is replaced.

A file that was deleted or swapped is noticed before the next transaction; an SQLite file that is
damaged is renamed to ``*.corrupt-<time>`` and replaced by a new one, once for each call, and by one
of the processes that meet the same damage. What never was an SQLite file is somebody's own, and
left as it is.
"""

from __future__ import annotations

import itertools
import logging
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    reason_of,
    sqlite_path,
)
from orchestrator_core.store.replacing import alone, undisturbed
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
                # What was replaced under a connection may fail in any way; it is looked at again.
                if not self._is_replaced():
                    if not is_damage(error):
                        raise
                    self._check_mendable()
                    self._put_aside(engine)
                return self._attempt(self._open(), work, write=write)
        except (*DATABASE_ERRORS, OSError, ValueError, OverflowError) as error:
            raise StoreError(
                f"the database {masked(self.url)} cannot be {'written' if write else 'read'}: "
                f"{reason_of(error, self.url)}"
            ) from None

    def _attempt(self, engine: Engine, work: Callable[[Connection], T], *, write: bool) -> T:
        with self._connected(engine) as connection:
            if write:
                writing(connection)
            with connection.begin():
                return work(connection)

    @contextmanager
    def _connected(self, engine: Engine) -> Iterator[Connection]:
        """A connection to the file that is there. SQLite opens the file first, then its log by
        name: of a file that was replaced in between, it would read and write another one's log."""
        with engine.connect() as connection:
            if self._is_replaced():
                connection.invalidate()
                raise sqlite3.OperationalError("the file was replaced while it was opened")
            yield connection

    def _is_replaced(self) -> bool:
        return self._identity != _identity(self._path)

    def _open(self) -> Engine:
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {masked(self.url)} is closed; open a new one")
            if self._engine is not None and self._is_replaced():
                self._drop_engine()
            if self._engine is not None:
                return self._engine
            if self._path is None or read_only(self.url):
                return self._begin()
            with undisturbed(self._path, self._patience):
                return self._begin()

    @property
    def _patience(self) -> float:
        """Seconds to wait for another process that makes the database.

        Where two flows are the first on a machine, it is done in a second or two: who gave up
        sooner would go without what they learn for a minute.
        """
        return max(self.busy_seconds, BUSY_SECONDS)

    def _begin(self) -> Engine:
        engine = self._engine = self._ready()
        # Who forgets to close it leaves no connection open.
        self._forgotten = weakref.finalize(self, engine.dispose)
        self._forgotten.atexit = False
        return engine

    def _ready(self) -> Engine:
        """An engine whose database is at the head."""
        if self._path is not None and not read_only(self.url):
            create_private(self._path)
        self._identity = _identity(self._path)
        engine = open_engine(self.url, busy_seconds=self.busy_seconds)
        try:
            with self._connected(engine) as connection:
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
        engine = open_engine(self.url, foreign_keys=False, busy_seconds=self._patience)
        try:
            with self._connected(engine) as connection, writing(connection).begin():
                bring(connection)
        finally:
            engine.dispose()

    def _check_mendable(self) -> None:
        """
        Raises:
            StoreError: where a damaged file is not to be replaced, or was never a database.
        """
        path = self._path
        if path is not None and not was_sqlite(path):
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
            if identity is None:
                return
            with alone(path, self._patience):
                if _identity(path) == identity:
                    self._rename(path)
                    # Before anybody else opens it, so that no second one is begun.
                    self._begin()

    def _rename(self, path: Path) -> None:
        aside = _unused(path.with_name(f"{path.name}.corrupt-{_now()}"))
        parts = ("", "-wal", "-shm")
        # Looked for before the first one moves: then who is about to open it may make new ones.
        there = [part for part in parts if path.with_name(path.name + part).exists()]
        for part in there:
            os.replace(path.with_name(path.name + part), aside.with_name(aside.name + part))
        self.set_aside += 1
        logger.warning("%s was damaged: it is now %s, and a new one begins", path, aside.name)

    def _drop_engine(self) -> None:
        if self._engine is not None:
            self._forgotten()
        self._engine = None
        self._identity = None


def was_sqlite(path: Path) -> bool:
    """Did the file begin as SQLite's do, as far as it goes? One that is gone was set aside."""
    try:
        with path.open("rb") as file:
            return MAGIC.startswith(file.read(len(MAGIC)))
    except FileNotFoundError:
        return True
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
