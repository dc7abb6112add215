"""How much memory this process has, and the most that it ever had; bytes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

STATM = "/proc/self/statm"


def rss_reader() -> Callable[[], int]:
    """A function that tells the resident bytes: by Linux in 2 us, elsewhere by psutil."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        with open(STATM, "rb", buffering=0) as file:
            descriptor = os.dup(file.fileno())
        int(os.pread(descriptor, 128, 0).split()[1])
    except (OSError, ValueError, AttributeError, IndexError):
        import psutil  # type: ignore[import-untyped]

        process = psutil.Process()
        return lambda: int(process.memory_info().rss)
    return _Statm(descriptor, page)


class _Statm:
    """Reads Linux's own figure from a file that stays open."""

    def __init__(self, descriptor: int, page: int) -> None:
        self._descriptor, self._page = descriptor, page

    def __call__(self) -> int:
        return int(os.pread(self._descriptor, 128, 0).split()[1]) * self._page

    def __del__(self) -> None:
        os.close(self._descriptor)


def high_water_reader() -> Callable[[], int]:
    """A function that tells the most resident bytes so far; always 0 where nobody knows."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return lambda: 0
    unit = 1 if sys.platform == "darwin" else 1024
    return lambda: getrusage(RUSAGE_SELF).ru_maxrss * unit
