"""Counted: what hints say that tasks occupy, Dask counts on its workers as it does its own.

What a plan reckons with, that two tasks with the one accelerator of a worker do not run at a time,
only the worker itself can see to: it takes the next task as soon as a thread is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from orchestrator_core.execute.dask.graphs.hints import Hint
from orchestrator_core.execute.dask.steer.live_tasks import NOT_STARTED
from orchestrator_core.execute.dask.workers.roster import BEGINNING
from orchestrator_core.execute.directives import Key
from orchestrator_core.graph.amounts import Amounts

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState


class Counted:
    """Writes resource restrictions to tasks, and takes back exactly those that it wrote."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._wanted: dict[Key, Amounts] = {}
        # Empty where no worker has all that is asked for: then the task runs anywhere.
        self._written: dict[Key, dict[str, float]] = {}

    def note(self, hints: Mapping[Key, Hint]) -> None:
        """These tasks have come, and none was sent yet."""
        wanted = {key: hint.resources for key, hint in hints.items() if hint.resources}
        self._wanted.update(wanted)
        self._write(wanted)

    def renew(self) -> list[Key]:
        """Other workers are there: of those that were not sent yet another set may be asked for;
        these had nowhere to go."""
        self._write(list(self._wanted))
        tasks = ((key, self._task(key)) for key in self._written)
        return [key for key, task in tasks if task is not None and task.state == "no-worker"]

    def forget(self, key: Key) -> None:
        """The task is gone, or will be in a moment."""
        if self._wanted.pop(key, None) is not None:
            self._written.pop(key, None)

    def clear(self) -> None:
        """Nothing is counted any longer; the tasks are as they were."""
        for key, written in self._written.items():
            task = self._task(key)
            if task is not None and written and task.resource_restrictions is written:
                if task.processing_on is not None:
                    self._scheduler.release_resources(task, task.processing_on)
                task.resource_restrictions = None
        self._wanted.clear()
        self._written.clear()

    def _write(self, keys: Iterable[Key]) -> None:
        # A layer's tasks share their amounts.
        offered: dict[int, dict[str, float]] = {}
        for key in keys:
            task, wanted = self._task(key), self._wanted[key]
            if task is not None and self._may_write(task):
                if id(wanted) not in offered:
                    offered[id(wanted)] = self._offered(wanted)
                self._written[key] = offered[id(wanted)]
                task.resource_restrictions = self._written[key] or None

    def _offered(self, wanted: Mapping[str, float]) -> dict[str, float]:
        """What Dask knows of it, if some worker has all that; Dask would wait for such a one."""
        known = {
            name: amount for name, amount in wanted.items() if self._scheduler.resources.get(name)
        }
        workers = [w for w in self._scheduler.workers.values() if w.status in BEGINNING]
        if any(all(w.resources.get(name, 0.0) >= known[name] for name in known) for w in workers):
            return known
        return {}

    def _may_write(self, task: TaskState) -> bool:
        """Was it not sent yet? And has nobody else said what it needs?"""
        if task.state not in NOT_STARTED:
            return False
        needed = task.resource_restrictions
        return not needed or needed is self._written.get(task.key)

    def _task(self, key: Key) -> TaskState | None:
        return self._scheduler.tasks.get(key)  # type: ignore[call-overload,no-any-return]
