"""Progress: how far each task of a run has come, kept up with what moved since the last look.

To ask for each of 20,000 tasks would hold up the event loop for 60 ms, ten times a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from orchestrator_core.execute.dask.graphs.followed import Followed
from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.live import Execution

if TYPE_CHECKING:
    from distributed.scheduler import TaskState

UNFINISHED = frozenset({"waiting", "processing", "no-worker", "queued"})

Tasks = Mapping[Any, "TaskState"]


class Progress:
    """The tasks of a run, by name, as of the last time it caught up; stored inputs count as tasks
    that were finished where these are, before anything began.

    Attributes:
        finished: those whose output is there, or was there and is needed no more.
        gone: those that nobody wants any more.
        processing: those that a worker was told of. held: those whose outputs are there.
    """

    def __init__(self, run: Followed) -> None:
        self._run = run
        self.finished: dict[str, Execution] = {}
        self.gone: set[str] = set()
        self.processing: dict[str, TaskState] = {}
        self.held: dict[str, TaskState] = {}
        self._executed: dict[Key, Execution] = {}
        self._ended = 0
        self._unwatched: set[Key] = set()
        self._coming: set[Key] = set()
        self._touched: set[Key] = set()
        self._there = dict(run.snapshot.there)
        for key, name in self._there.items():
            self.finished[name] = Execution(run.snapshot.stored[key].workers[0], 0.0, 0.0)
        self.forget()

    def forget(self) -> None:
        """Nobody has told what moved: all tasks are to be asked for."""
        self._touched.update(self._run.snapshot.keys)

    def touch(self, key: Key) -> None:
        """The task has moved."""
        self._touched.add(key)

    def lose(self, key: Key) -> None:
        """Nobody will tell any more when this task moves."""
        self._unwatched.add(key)

    def catch_up(self, tasks: Tasks, limit: int | None = None) -> bool:
        """Ask for what has moved, `limit` tasks at most; False if there are more."""
        for key, status, (worker, _), start, end, *_ in self._run.ended[self._ended :]:
            if status == "ok":
                self._executed[key] = Execution(worker, start, end)
                self._touched.add(key)
        self._ended = len(self._run.ended)
        while self._there:
            stored, name = self._there.popitem()
            if (task := tasks.get(stored)) is not None:
                self.held[name] = task
        # Who comes after all, or never, does not move.
        self._touched |= self._coming - self._run.coming
        for key in list(islice(self._touched, limit)):
            self._touched.discard(key)
            self._ask(key, tasks.get(key))
        if self._touched:
            return False
        for key in self._unwatched:
            self._ask(key, tasks.get(key))
        return True

    def _ask(self, key: Key, task: TaskState | None) -> None:
        tasks = self._run.snapshot
        name = tasks.names[tasks.place[key]]
        self.finished.pop(name, None)
        self.gone.discard(name)
        self.processing.pop(name, None)
        self.held.pop(name, None)
        self._coming.discard(key)
        if task is None and key in self._run.coming:
            self._coming.add(key)
            return
        if task is None or task.state in ("erred", "forgotten"):
            self.gone.add(name)
        elif task.state in UNFINISHED:
            if task.state == "processing":
                self.processing[name] = task
        elif key in self._executed:
            self.finished[name] = self._executed[key]
            if task.state == "memory":
                self.held[name] = task
        else:
            self.gone.add(name)
