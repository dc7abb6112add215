"""Following a plan by worker restrictions: the portable way.

Restrictions are loose, so that a task whose worker is gone runs elsewhere instead of waiting for
ever (dask/distributed#7346); the price is that stealing may take a task away from its worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator_core.execute.directives import Key

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState

    from orchestrator_core.execute.dask.workers.roster import Roster


class Restrictor:
    """Writes restrictions to planned tasks, and takes back exactly those that it wrote."""

    # To Dask, loose restrictions make all of them loose.
    keeps_resources = False

    def __init__(self, scheduler: Scheduler, roster: Roster) -> None:
        self._scheduler = scheduler
        self._roster = roster
        self._written: dict[Key, set[str]] = {}

    def install(self) -> None:
        """Nothing to do: the scheduler itself obeys restrictions."""

    def place(self, state: TaskState, worker: str) -> None:
        running = self._roster.running(worker)
        if running is None:
            self.release(state)
            return
        restriction = {running.address}
        state.worker_restrictions = restriction
        state.loose_restrictions = True
        self._written[state.key] = restriction

    def release(self, state: TaskState) -> None:
        written = self._written.pop(state.key, None)
        # Somebody else's restriction, written after ours, is not ours to take away.
        if written is not None and state.worker_restrictions is written:
            state.worker_restrictions = None
            state.loose_restrictions = False

    def forget(self, state: TaskState) -> None:
        self._written.pop(state.key, None)

    def uninstall(self) -> None:
        for key in list(self._written):
            state = self._scheduler.tasks.get(key)  # type: ignore[call-overload]
            if state is None:
                del self._written[key]
            else:
                self.release(state)
