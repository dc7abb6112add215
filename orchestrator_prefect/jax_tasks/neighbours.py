"""What other processes of this machine have booked of a device that they share with this one.

Each process says in a small file of its own how much it has and how many tasks it runs; whoever
books looks at all of them, one at a time. Files of processes that are gone do not count, and are
removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]


class Neighbours:
    """The processes of this user that share a device.

    Args:
        device: what the device is called in all of them.
        folder: where they meet; None for one of this user's in the machine's temporary folder.
        process: number of this one.

    Raises:
        OSError: if there can be no such folder, or the system has no such locks.
    """

    def __init__(self, device: str, folder: Path | None = None, process: int | None = None) -> None:
        if fcntl is None:
            raise OSError(f"{os.name} has no locks that processes share")
        self._folder = folder or Path(tempfile.gettempdir(), f"orchestrator-devices-{os.getuid()}")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._device = re.sub(r"[^A-Za-z0-9.-]", "-", device)
        self._own = self._folder / f"{self._device}@{process or os.getpid()}"

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Within it no other process looks or says anything."""
        with open(self._folder / f"{self._device}.lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def say(self, nbytes: int, running: int) -> None:
        """This process has so many bytes of the device, and runs so many tasks there."""
        self._own.write_text(f"{nbytes} {running}")

    def others(self) -> tuple[int, int]:
        """Bytes that the others have, and how many tasks they run."""
        said = [_said(file) for file in self._of_others()]
        return sum(nbytes for nbytes, _ in said), sum(running for _, running in said)

    def _of_others(self) -> Iterator[Path]:
        for each in self._folder.glob(f"{self._device}@*"):
            if each == self._own:
                continue
            if _lives(int(each.name.rpartition("@")[2])):
                yield each
            else:
                each.unlink(missing_ok=True)


def _said(file: Path) -> tuple[int, int]:
    try:
        nbytes, running = map(int, file.read_text().split())
    except (OSError, ValueError):
        return 0, 0
    return nbytes, running


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
