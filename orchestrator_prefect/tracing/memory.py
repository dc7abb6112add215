"""A limit to what the process of a trace may take: an endless list shall not take the machine."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

MORE = 4 << 30
"""Bytes that the body may take on top of what is loaded."""


def limit_memory(more: int = MORE) -> None:
    """From now on, this process gets so many bytes at most; where that cannot be said, any."""
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        soft = pages * resource.getpagesize() + more
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        if hard == resource.RLIM_INFINITY or soft < hard:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
