"""Can files be made in a folder? Tried, since rights alone do not say so of every file system."""

from __future__ import annotations

import tempfile
from pathlib import Path


def may_write(folder: Path) -> bool:
    """Can files be made there, its missing folders included? Leaves nothing behind."""
    try:
        there = next((part for part in (folder, *folder.parents) if part.exists()), None)
        if there is None:
            return False
        tempfile.TemporaryFile(dir=there).close()
    except OSError:
        return False
    return True
