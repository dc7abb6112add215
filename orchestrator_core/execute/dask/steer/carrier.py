"""Carrier: how a plan is made to happen on a scheduler; `director` and `restrict` are the ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from distributed.scheduler import TaskState


class Carrier(Protocol):
    """Carries out directives. The law: after `uninstall`, the scheduler is as it was before.

    Attributes:
        keeps_resources: does a task that needs resources run only where they are, even if the
            worker that was planned is lost?
    """

    keeps_resources: bool

    def install(self) -> None:
        """Begin to steer."""
        ...

    def place(self, state: TaskState, worker: str) -> None:
        """The task, not yet sent anywhere, is to run on the worker of that name."""
        ...

    def release(self, state: TaskState) -> None:
        """The task may run anywhere."""
        ...

    def forget(self, state: TaskState) -> None:
        """The task is gone."""
        ...

    def uninstall(self) -> None:
        """Undo all; may be called twice."""
        ...
