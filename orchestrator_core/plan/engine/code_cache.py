"""Where machine code is kept on disk: a folder for each version of a module's source (stage 3).

numba keys what it keeps by the file of the function that was compiled. Functions that are compiled
into it may stand in other files, so that after an upgrade old code could be run. Here the key is
the source of the module and of all that it imports from the planner and from the simulator's
compiled part, directly or not; wherever these are installed.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numba
from platformdirs import user_cache_dir

PACKAGE = "orchestrator_core.plan"
SOURCES = Path(__file__).resolve().parent.parent
"""The package whose modules are looked after, and its folder."""

SIMULATOR = "orchestrator_core.execute.simulate.kernel"
SIMULATOR_SOURCES = SOURCES.parent / "execute" / "simulate" / "kernel"
"""The other package that has compiled code."""

DOORS = ("engine.machine", "engine.compiler")
"""What makes machine code of all of them, though no kernel imports it."""

UNUSED = 30 * 86400.0
"""Seconds without a start of a process after which a folder is deleted."""

Texts = dict[str, bytes]
"""Source by the dotted name of the module below the package; the simulator's by its full name."""

config: Any = numba.config
"""numba's settings, which it makes when it is imported."""

_MARK = re.compile(rb"engine\.compiled import .*\b(compiled|inner|inlined)\b")
_IMPORT = re.compile(rb"^from (?:orchestrator_core\.plan\.)?([\w.]+) import", re.MULTILINE)


@functools.cache
def folder_of(module: str) -> Path | None:
    """The folder for a module's machine code; None for one of another package."""
    name = module.removeprefix(f"{PACKAGE}.")
    if folder() is None or name not in _texts():
        return None
    return _made(root() / f"{name}-{_hash(closure(_texts(), [name, *DOORS]))}")


@functools.cache
def folder() -> Path | None:
    """The folder for notes on all code of this version; None if no place can be written."""
    try:
        kernels = [name for name, text in _texts().items() if _MARK.search(text)]
        chosen = _made(root() / f"all-{_hash(closure(_texts(), [*kernels, *DOORS]))}")
        drop_old(root())
    except (OSError, RuntimeError):  # the latter where the user has no home
        return None
    return chosen


def root() -> Path:
    """Below the folder that the user has set for numba, else below that for caches."""
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR) / "orchestrator"
    return Path(user_cache_dir("orchestrator", appauthor=False)) / "code"


def texts_of(package: Path) -> Texts:
    """All modules of a package.

    Raises:
        OSError: if they cannot be read, as in a zip archive.
    """
    found = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = file.read_bytes()
    if not found:
        raise FileNotFoundError(package)
    return found


def closure(texts: Texts, names: list[str]) -> Texts:
    """These modules and what they import, directly or not."""
    kept: Texts = {}
    ahead = list(names)
    while ahead:
        name = ahead.pop()
        if name in texts and name not in kept:
            kept[name] = texts[name]
            ahead += [found.decode() for found in _IMPORT.findall(texts[name])]
    return kept


def drop_old(place: Path) -> None:
    """Delete the folders that no process has used for a long time."""
    for each in place.iterdir():
        if each.is_dir() and each.stat().st_mtime < time.time() - UNUSED:
            shutil.rmtree(each, ignore_errors=True)


@functools.cache
def _texts() -> Texts:
    others = texts_of(SIMULATOR_SOURCES)
    return texts_of(SOURCES) | {f"{SIMULATOR}.{name}": text for name, text in others.items()}


def _hash(texts: Texts) -> str:
    """Of names and contents, and of the version of Python."""
    found = hashlib.sha256(sys.version.encode())
    for name, text in sorted(texts.items()):
        found.update(f"{name} {len(text)}\n".encode())
        found.update(text)
    return found.hexdigest()[:16]


def _made(chosen: Path) -> Path:
    """The folder, made if need be, writable, and marked as used."""
    chosen.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=chosen).close()
    os.utime(chosen)
    return chosen
