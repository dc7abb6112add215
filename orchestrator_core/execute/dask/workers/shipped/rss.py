"""How much memory this process has, and the most that it ever had; bytes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

STATM, STATUS = "/proc/self/statm", "/proc/self/status"

HIGH_WATER = b"VmHWM:"
"""The line of `STATUS` that tells the most resident kilobytes."""


def rss_reader() -> Callable[[], int]:
    """A function that tells the resident bytes: by Linux in 2 us, elsewhere by psutil."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        read = _File(os.open(STATM, os.O_RDONLY), 128)
        int(read().split()[1])
    except (OSError, ValueError, AttributeError, IndexError):
        import psutil  # type: ignore[import-untyped]

        process = psutil.Process()
        return lambda: int(process.memory_info().rss)
    return lambda: int(read().split()[1]) * page


def high_water_reader() -> Callable[[], int]:
    """A function that tells the most resident bytes so far; always 0 where nobody knows.

    On Linux not by `getrusage`: there a process begins with the most that its parent had, so what
    workers of a large process take would not show.
    """
    try:
        read = _File(os.open(STATUS, os.O_RDONLY), 4096)
        _kilobytes(read())
    except (OSError, ValueError, AttributeError, IndexError):
        return _by_getrusage()
    return lambda: _kilobytes(read()) * 1024


def _kilobytes(status: bytes) -> int:
    return int(status.split(HIGH_WATER, 1)[1].split(None, 1)[0])


def _by_getrusage() -> Callable[[], int]:
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return lambda: 0
    unit = 1 if sys.platform == "darwin" else 1024
    return lambda: getrusage(RUSAGE_SELF).ru_maxrss * unit


class _File:
    """Reads the beginning of a file of Linux's own that stays open; it is closed with this."""

    def __init__(self, descriptor: int, nbytes: int) -> None:
        self._descriptor, self._nbytes = descriptor, nbytes

    def __call__(self) -> bytes:
        return os.pread(self._descriptor, self._nbytes, 0)

    def __del__(self) -> None:
        os.close(self._descriptor)
