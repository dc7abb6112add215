"""Replacing: one process at a time sets a damaged file aside, and nobody opens it meanwhile.

The lock is a file beside the database, ``<name>.lock``, that stays once there was a damage: who
would remove it could take it from under another. A process that dies gives the lock back. Where the
system has no such locks, as on Windows, or the file cannot be made, work goes on without: there,
two processes that meet the same damage at the same moment may get into each other's way.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(path: Path, seconds: float) -> Iterator[None]:
    """While this lasts, no other process replaces or opens the database of this path.

    Raises:
        TimeoutError: if others do so for more than so many seconds.
    """
    with _held(path, os.O_RDWR | os.O_CREAT, seconds, shared=False):
        yield


@contextmanager
def undisturbed(path: Path, seconds: float) -> Iterator[None]:
    """While this lasts, no other process replaces the database; who has not yet made the lock
    replaces nothing.

    Raises:
        TimeoutError: as `alone`.
    """
    with _held(path, os.O_RDONLY, seconds, shared=True):
        yield


@contextmanager
def _held(path: Path, flags: int, seconds: float, *, shared: bool) -> Iterator[None]:
    lock = path.with_name(f"{path.name}.lock")
    try:
        descriptor = os.open(lock, flags, 0o600)
    except OSError:
        yield
        return
    try:
        if not _taken(descriptor, seconds, shared=shared):
            raise TimeoutError(f"another process has held {lock} for {seconds:g} seconds")
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int, seconds: float, *, shared: bool) -> bool:
    """Is it ours, or are there no locks? False after these seconds."""
    try:
        import fcntl
    except ImportError:
        return True
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.02)
        except OSError:
            return True
        else:
            return True
