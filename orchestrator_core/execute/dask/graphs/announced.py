"""Runs whose tasks are announced before they are submitted one by one, as Prefect's are.

A client says in epochs which keys will come; their plan is made on its side. The keys of an epoch
share one generation in Dask's priority, that of the first to arrive: so ranks order them, and
neither the user's priority nor fairness to other clients is lost.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Set

from orchestrator_core.execute.dask.graphs.ended import Ended, as_record
from orchestrator_core.execute.dask.graphs.epoch import Epoch
from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.record import TaskRecord

RUN_LIMIT = 1024
"""Announced runs that are kept; of more, the longest unused is given up."""

RECORD_LIMIT = 100_000
"""Records that are kept of a run; of more, the oldest go."""


class AnnouncedRun:
    """A ledger of the announced keys of a run; `over` is called with each epoch that has ended."""

    def __init__(
        self,
        run_id: str,
        started_at: float,
        over: Callable[[Epoch], None],
        prepared: dict[str, set[str]],
        worked_before: float = 0.0,
    ) -> None:
        self.run_id = run_id
        self.started_at = started_at
        self.labels: dict[Key, tuple[str, str]] = {}
        self.records: deque[tuple[Key, TaskRecord]] = deque(maxlen=RECORD_LIMIT)
        self.epochs: dict[Key, Epoch] = {}
        self.client = ""
        self._over, self._prepared = over, prepared
        self._worked_before = worked_before
        self._open: set[Key] = set()

    @property
    def open(self) -> Set[Key]:
        """The tasks that have not come to an end yet."""
        return self._open

    def others(self, worked: float) -> float:
        """Seconds for which tasks of other runs had threads; `worked`: as of `Worked`, now, but for
        its `open` tasks."""
        own = sum([record.seconds for _, record in self.records])
        return max(0.0, worked - self._worked_before - own)

    def announce(self, tasks: Iterable[tuple[Key, str, str]], now: float) -> Epoch:
        """An epoch begins: these keys, each with name and kind, will come (again)."""
        labels = {key: (name, kind) for key, name, kind in tasks}
        for key in self.epochs.keys() & labels:
            self.settle(key, "cancelled")
        epoch = Epoch(self.run_id, {key: name for key, (name, _) in labels.items()}, now)
        self.labels |= labels
        self._open.update(labels)
        self.epochs.update(dict.fromkeys(labels, epoch))
        return epoch

    def withdraw(self, key: Key) -> None:
        """The key, which has not arrived, will not come after all."""
        self.settle(key, "cancelled")
        del self.labels[key], self.epochs[key]

    def notes(self) -> list[str]:
        """What people are to know of its epochs, each note once."""
        epochs = dict.fromkeys(self.epochs.values())
        return list(dict.fromkeys(note for epoch in epochs for note in epoch.notes))

    def add(self, ended: Ended) -> None:
        key = ended[0]
        record = as_record(self.labels[key], ended)
        self.records.append((key, record))
        if record.setup_seconds > 0:
            self._prepared.setdefault(record.worker, set()).add(record.kind)
        epoch = self.epochs[key]
        epoch.add(ended, epoch.started_at - self.started_at)

    def settle(self, key: Key, status: str) -> None:
        """An announced run ends when its client says so; an epoch, with its last task."""
        self._open.discard(key)
        epoch = self.epochs[key]
        if epoch.settle(key):
            self._over(epoch)


class Announcements:
    """The announced runs, and the epoch of each announced key.

    Args:
        given_up: told of each run that has ended. over: told of each epoch that has.
        worked: as of `Worked`.

    Attributes:
        prepared: by worker, the kinds of tasks whose setup it has behind it, such as compiling.
    """

    def __init__(
        self,
        given_up: Callable[[AnnouncedRun], None],
        over: Callable[[Epoch], None],
        worked: Callable[[], float],
    ) -> None:
        self._given_up, self._over, self._worked = given_up, over, worked
        self.prepared: dict[str, set[str]] = {}
        self._runs: OrderedDict[str, AnnouncedRun] = OrderedDict()
        self._epochs: dict[Key, Epoch] = {}

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def runs(self) -> tuple[AnnouncedRun, ...]:
        """The announced runs, the longest unused first."""
        return tuple(self._runs.values())

    def get(self, run_id: str) -> AnnouncedRun | None:
        """The run, or None if nobody announced it or it was given up."""
        run = self._runs.get(run_id)
        if run is not None:
            self._runs.move_to_end(run_id)
        return run

    def epoch(self, key: Key) -> Epoch | None:
        """The epoch of a key, or None if nobody announced it."""
        return self._epochs.get(key)

    def begin(
        self, run_id: str, tasks: Iterable[tuple[Key, str, str]], now: float
    ) -> tuple[AnnouncedRun, Epoch]:
        """An epoch of `run_id` begins: these keys, each with name and kind, will come."""
        run = self.get(run_id)
        if run is None:
            worked = self._worked()
            run = AnnouncedRun(run_id, now, self._over, self.prepared, worked)
            self._runs[run_id] = run
            if len(self._runs) > RUN_LIMIT:
                self.end(next(iter(self._runs)))
        epoch = run.announce(tasks, now)
        self._epochs.update(dict.fromkeys(epoch.snapshot.keys, epoch))
        return run, epoch

    def withdraw(self, run_id: str, keys: Iterable[Key]) -> list[Key]:
        """These keys of the run will not come after all; those that have not come until now."""
        run = self.get(run_id)
        if run is None:
            return []
        gone = [key for key in keys if key in run.epochs and key in run.epochs[key].coming]
        for key in gone:
            self._forget(key, run.epochs[key])
            run.withdraw(key)
        return gone

    def end(self, run_id: str) -> None:
        """The client wants no more records of the run."""
        run = self._runs.pop(run_id, None)
        if run is not None:
            for key, epoch in run.epochs.items():
                self._forget(key, epoch)
            for epoch in set(run.epochs.values()):
                self._over(epoch)
            self._given_up(run)

    def _forget(self, key: Key, epoch: Epoch) -> None:
        """Unless another run has announced the same key since."""
        if self._epochs.get(key) is epoch:
            del self._epochs[key]

    def end_of(self, client: str) -> None:
        """A client is gone, and with it those who would say that its runs have ended."""
        for run in self.runs:
            if run.client == client:
                self.end(run.run_id)

    def clear(self) -> None:
        """Give up all runs."""
        for run_id in list(self._runs):
            self.end(run_id)

    def forsake(self) -> None:
        """All tasks are gone: no epoch has anything to come."""
        for run in self._runs.values():
            for epoch in set(run.epochs.values()):
                self._over(epoch)
