"""Worked: how long the threads of all workers have been busy, whatever with."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from distributed.metrics import time

from orchestrator_core.execute.dask.living import Living
from orchestrator_core.execute.dask.overheard import Hear, Overheard
from orchestrator_core.execute.directives import Key

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler

NESTED = "Client-worker"
"""What the name of a client begins with that tasks use to submit others."""

Fault = Callable[[str, Exception], None]


class Worked:
    """A clock that goes as fast as there are busy threads: what a run had not, others had.

    It overhears what workers say to the scheduler. Tasks that have left their thread (`secede`) are
    busy until then, and what tasks submit themselves is not counted: it belongs to whoever waits
    for it.

    Attributes:
        executed: how many tasks have ended, whatever came of them.
    """

    def __init__(self, scheduler: Scheduler, fault: Fault) -> None:
        self._scheduler, self._fault = scheduler, fault
        heard = {
            "task-finished": self.has_ended,
            "task-erred": self.has_ended,
            "long-running": self._has_seceded,
        }
        self._overheard = [
            Overheard(scheduler, message, self._guarded(hear)) for message, hear in heard.items()
        ]
        self._left = Living(scheduler.tasks)
        self._ended = 0.0
        self.executed = 0

    def install(self) -> None:
        """Begin to listen."""
        for each in self._overheard:
            each.install()

    def uninstall(self) -> None:
        """Listen no more."""
        for each in self._overheard:
            each.uninstall()

    def submitted(self, keys: Iterable[Key], client: str) -> None:
        """A client has submitted these."""
        if client.startswith(NESTED):
            self._left.add(keys)

    def has_ended(self, message: Mapping[str, Any]) -> None:
        """A worker has executed a task, whatever came of it, and says when."""
        if message["key"] in self._left:
            self._left.discard(message["key"])
            return
        self.executed += 1
        for span in message.get("startstops") or ():
            if span["action"] == "compute":
                self._ended += max(0.0, span["stop"] - span["start"])

    def now(self, but: Container[Key] = ()) -> float:
        """Seconds of threads until now, as far as heartbeats tell; `but` for what these tasks have
        had so far that still run."""
        moment, running = time(), 0.0
        for worker in self._scheduler.workers.values():
            for task, seconds in worker.executing.items():
                is_in = task.processing_on is worker and task.key not in self._left
                if is_in and task.key not in but:
                    running += seconds + max(0.0, moment - worker.last_seen)
        return self._ended + running

    def _has_seceded(self, message: Mapping[str, Any]) -> None:
        if message["key"] not in self._left:
            self._ended += max(0.0, message.get("compute_duration") or 0.0)
            self._left.add([message["key"]])

    def _guarded(self, hear: Hear) -> Hear:
        """The same, but an error ends the listening and is told."""

        def heard(message: Mapping[str, Any]) -> None:
            try:
                hear(message)
            except Exception as error:
                self.uninstall()
                self._fault("worked", error)

        return heard
