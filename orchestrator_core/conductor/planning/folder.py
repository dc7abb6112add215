"""The folder in which processes leave each other what they decided.

The one that ``ORCHESTRATOR_PLAN_CACHE`` names (``off`` for none), or beside what is known of
devices. Nothing here fails: where nothing can be written, nothing is remembered.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from orchestrator_core.conductor.cost.current_device import this_device
from orchestrator_core.conductor.cost.device_store import folder
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.planning.text import goal_to_plain, made_with

VARIABLE = "ORCHESTRATOR_PLAN_CACHE"

MOST_BYTES = 2**28
"""Of all files of ours; of more, the oldest go until half of it is left."""

OURS = re.compile(r"\w+-[0-9a-f]{16}\.(json|program)(\..*)?")
"""The names of what is kept, and of what is being written: a folder that somebody names may hold
what is not ours."""


def file_for(what: str, goal: Goal, ending: str) -> Path | None:
    """Where something is kept for a goal, this device and this build; None if nowhere."""
    given = os.environ.get(VARIABLE, "").strip()
    if given.lower() == "off":
        return None
    try:
        place = Path(given) if given else folder() / "plans"
    except RuntimeError:  # nobody's home
        return None
    about = repr((goal_to_plain(goal), made_with(), this_device(), _build()))
    digest = hashlib.blake2b(about.encode(), digest_size=8).hexdigest()
    return place / f"{what}-{digest}.{ending}"


def write(file: Path, content: bytes) -> None:
    """All of it or nothing, whoever reads meanwhile."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        make_room(file.parent, MOST_BYTES)
        handle, new = tempfile.mkstemp(dir=file.parent, prefix=f"{file.name}.")
        try:
            with os.fdopen(handle, "wb") as open_file:
                open_file.write(content)
            os.replace(new, file)
        except BaseException:
            os.unlink(new)
            raise


def make_room(place: Path, most: int) -> None:
    """Delete the oldest if there are more than so many bytes. Another process may do the same."""
    files = []
    for each in filter(_is_ours, place.iterdir()):
        with contextlib.suppress(OSError):
            files.append((each.stat().st_mtime, each.stat().st_size, each))
    left = sum(size for _, size, _ in files)
    if left <= most:
        return
    for _, size, file in sorted(files):
        if left <= most // 2:
            return
        file.unlink(missing_ok=True)
        left -= size


def _is_ours(file: Path) -> bool:
    return OURS.fullmatch(file.name) is not None


@functools.cache
def _build() -> str:
    """Changes with the code that decides."""
    about = sorted(_files(str(Path(__file__).parents[1])))
    return hashlib.blake2b(repr(about).encode(), digest_size=8).hexdigest()


def _files(place: str) -> Iterator[tuple[str, int, int]]:
    """Of each module, wherever it is installed: name, size, and when it was written."""
    with os.scandir(place) as entries:
        for each in entries:
            if each.is_dir():
                yield from _files(each.path)
            elif each.name.endswith(".py"):
                found = each.stat()
                yield each.name, found.st_size, found.st_mtime_ns
