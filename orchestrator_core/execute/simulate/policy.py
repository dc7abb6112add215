"""Policy: what decides in a simulation where tasks run."""

from __future__ import annotations

from typing import Protocol


class Policy(Protocol):
    """Decides where units run: told what happens, it calls `EventLoop.give` and `take_back`."""

    def ready(self, unit: int) -> None:
        """All inputs of the unit are done, and its release is past."""

    def done(self, unit: int) -> None:
        """The unit has ended."""

    def arrived(self, unit: int, worker: int) -> None:
        """The unit's output has reached the worker."""

    def settle(self) -> None:
        """All that happens at this moment has happened."""
