"""A file that one process at a time may hold."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(file: Path | None, *, wait: bool = True) -> Iterator[bool]:
    """Is it ours meanwhile? With `wait`, once no other process has it. Always yes where there is no
    such file, or where the system has no such locks. A process that dies gives it back."""
    with contextlib.ExitStack() as opened:
        try:
            import fcntl

            if file is None:
                raise OSError
            held = opened.enter_context(open(file, "a"))
        except (ImportError, OSError):
            yield True
            return
        try:
            fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            yield False
            return
        yield True
