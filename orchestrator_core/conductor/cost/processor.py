"""The processor that this process runs on. JAX has one name for all of them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")


def processor() -> str:
    """Its name and what it can do."""
    with contextlib.suppress(OSError):
        first = CPU_INFO.read_text().split("\n\n")[0].splitlines()
        told = [line for line in first if line.startswith(("model name", "flags", "Features"))]
        if told:
            return "\n".join(told)
    return f"{platform.machine()} {platform.processor()}"


def usable_cores() -> int:
    """That this process may use."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)


def digest(text: str) -> str:
    """A short name for something like that."""
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
