"""RunKeys: what Dask calls the tasks of a run, known before they are submitted."""

from __future__ import annotations

from hashlib import sha256
from uuid import uuid4


class RunKeys:
    """Keys by the names of tasks; those of two runs, or of two names, are never the same."""

    def __init__(self) -> None:
        self._run = uuid4().hex
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        """The key of the task of this name, submitted or not; it begins with the function's."""
        digest = sha256(f"{self._run} {name}".encode()).hexdigest()
        return f"{name.rpartition('-')[0] or name}-{digest[:32]}"

    def take(self, name: str) -> str:
        """The same for a task that is submitted now; another one if there was such a name."""
        key = self.of(name)
        if key in self._taken:
            return f"{key[:-32]}{uuid4().hex}"
        self._taken.add(key)
        return key
