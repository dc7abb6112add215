"""Notes beside the machine code: which parts this machine has, and whether somebody compiles now.

They are files in the folder of this version's code; where none can be written, no part is there and
everybody may compile.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
from collections.abc import Iterator
from pathlib import Path

from orchestrator_core.plan.engine.locked import locked

_there: set[str] = set()


def folder() -> Path | None:
    """Where the notes are; None if no place can be written."""
    from orchestrator_core.plan.engine import code_cache

    return code_cache.folder()


def is_there(part: str) -> bool:
    """Is the part on this machine's disk? Asked of the disk until it is."""
    if part not in _there:
        file = _file(part)
        if file is None or not file.exists():
            return False
        _there.add(part)
    return True


def note(part: str) -> None:
    """Note that the part was compiled."""
    file = _file(part)
    if file is not None:
        with contextlib.suppress(OSError):
            file.touch()


def wait_for_others() -> None:
    """Until nobody on this machine compiles."""
    with alone(wait=True):
        pass


@contextlib.contextmanager
def alone(*, wait: bool) -> Iterator[bool]:
    """Is no other process compiling? With `wait`, once none is. Always yes without such locks."""
    place = folder()
    with locked(None if place is None else place / "lock", wait=wait) as free:
        yield free


def _file(part: str) -> Path | None:
    place = folder()
    return None if place is None else place / f"has-{part}-{_stamp()}"


@functools.cache
def _stamp() -> str:
    """Machine code is good for one kind of processor and one version of the compiler."""
    from orchestrator_core.plan.engine.kernel_cache import VERSIONS

    processor = importlib.import_module("llvmlite.binding").get_host_cpu_name()  # has no types
    return hashlib.sha256(f"{VERSIONS} {processor}".encode()).hexdigest()[:8]
