"""Heeding: where hints say that tasks may run, Dask runs them as long as no plan places them.

By worker restrictions that are not loose, or tasks would be stolen from there. Where none of the
workers is left that a hint speaks of, or all of them have paused, its tasks run anywhere: a hint is
a wish, and nothing hangs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from orchestrator_core.execute.dask.graphs.hints import Hint, read_hints
from orchestrator_core.execute.dask.graphs.snapshot import stated_of
from orchestrator_core.execute.dask.steer.counted import Counted
from orchestrator_core.execute.dask.steer.live_tasks import NOT_STARTED
from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.execute.directives import Key
from orchestrator_core.graph.worker import Worker

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState


class Heeding:
    """Writes restrictions to hinted tasks, and takes back exactly those that it wrote."""

    def __init__(self, scheduler: Scheduler, roster: Roster, counts: bool) -> None:
        """Args: counts: may Dask count what tasks occupy, planned or not?"""
        self._scheduler, self._roster = scheduler, roster
        self._counts, self._counted = counts, Counted(scheduler)
        self._hints: dict[Key, Hint] = {}
        # Of the keys that are heeded; empty where none of the workers is there.
        self._written: dict[Key, set[str]] = {}

    @property
    def hints(self) -> Mapping[Key, Hint]:
        """What can be heeded; always the same live mapping, for those who ask often."""
        return self._hints

    def note(self, hints: Mapping[Key, Hint]) -> None:
        """These have come, and from now on they can be heeded."""
        found = {key: hint for key, hint in hints.items() if hint.says_where}
        self._hints.update(found)
        if self._counts:
            self._counted.note(found)

    def read(self, keys: Iterable[Key]) -> Mapping[Key, Hint]:
        """The hints of those that have any."""
        found = (self._task(key) for key in keys)
        stated = stated_of(task for task in found if task is not None)
        return read_hints(stated) if stated else {}

    def heed(self, keys: Iterable[Key]) -> None:
        """Those of the keys that have hints and were not sent yet may run only there."""
        if not self._hints or (cluster := self._roster.cluster()) is None:
            return
        # A layer's tasks share one hint.
        places: dict[int, set[str]] = {}
        for key in keys:
            hint, task = self._hints.get(key), self._task(key)
            if hint is not None and task is not None and self._may_write(task):
                if id(hint) not in places:
                    places[id(hint)] = self._addresses(hint, cluster.workers)
                self._written[key] = set(places[id(hint)])
                task.worker_restrictions = self._written[key] or None

    def release(self, keys: Iterable[Key]) -> None:
        """A plan places these: they may run anywhere, as far as this is concerned."""
        for key in keys if self._written else ():
            task, written = self._task(key), self._written.pop(key, None)
            if task is not None and self._is(task, written):
                task.worker_restrictions = None

    def forget(self, key: Key) -> None:
        """The task is gone, or will be in a moment."""
        if self._hints.pop(key, None) is not None:
            self._written.pop(key, None)
            self._counted.forget(key)

    def renew(self) -> list[Key]:
        """Other workers are there, who may be meant, too; these tasks had none to go to."""
        stuck = [key for key in self._written if self._state(key) == "no-worker"]
        self.heed(list(self._written))
        return [*stuck, *self._counted.renew()]

    def clear(self) -> None:
        """Nothing is heeded any longer; the tasks are as they were."""
        self.release(list(self._written))
        self._counted.clear()
        self._hints.clear()

    def _addresses(self, hint: Hint, workers: Iterable[Worker]) -> set[str]:
        there = [self._roster.running(worker.name) for worker in workers if _suits(worker, hint)]
        return {state.address for state in there if state is not None}

    def _may_write(self, task: TaskState) -> bool:
        """Is it heeded already, or was not sent yet? And has nobody else said where it may run?"""
        written = self._written.get(task.key)
        if written is None and task.state not in NOT_STARTED:
            return False
        restricted = task.worker_restrictions or task.host_restrictions
        return not restricted or self._is(task, written)

    def _is(self, task: TaskState, written: set[str] | None) -> bool:
        """Is the task's restriction what was written? Another's is not to be taken away."""
        return bool(written) and task.worker_restrictions is written

    def _state(self, key: Key) -> str | None:
        task = self._task(key)
        return None if task is None else task.state

    def _task(self, key: Key) -> TaskState | None:
        return self._scheduler.tasks.get(key)  # type: ignore[call-overload,no-any-return]


def _suits(worker: Worker, hint: Hint) -> bool:
    named = hint.workers is None or worker.name in hint.workers or worker.kind in hint.workers
    return named and all(
        worker.resources.get(name, 0.0) >= amount for name, amount in hint.resources.items()
    )
