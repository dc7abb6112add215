"""Runs whose tasks are announced before they are submitted one by one, as Prefect's are.

A client says in epochs which keys will come; their plan is made on its side. The keys of an epoch
share one generation in Dask's priority, that of the first to arrive: so ranks order them, and
neither the user's priority nor fairness to other clients is lost.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from orchestrator_core.execute.dask.graphs.ended import Ended, as_record
from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.record import TaskRecord

RUN_LIMIT = 64
"""Announced runs that are kept; of more, the longest unused is given up."""

RECORD_LIMIT = 100_000
"""Records that are kept of a run; of more, the oldest go."""


@dataclass(eq=False, slots=True)
class Epoch:
    """Keys that were announced together; `generation` is None until the first of them arrives."""

    generation: float | None = None


@dataclass(eq=False, slots=True)
class AnnouncedRun:
    """A ledger of the announced keys of a run."""

    run_id: str
    started_at: float
    labels: dict[Key, tuple[str, str]] = field(default_factory=dict)
    records: deque[tuple[Key, TaskRecord]] = field(
        default_factory=lambda: deque(maxlen=RECORD_LIMIT)
    )

    def add(self, ended: Ended) -> None:
        key = ended[0]
        self.records.append((key, as_record(self.labels[key], ended)))

    def settle(self, key: Key, status: str) -> None:
        """An announced run ends when its client says so."""


class Announcements:
    """The announced runs, and the epoch of each announced key."""

    def __init__(self, given_up: Callable[[AnnouncedRun], None]) -> None:
        self._given_up = given_up
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

    def begin(self, run_id: str, tasks: Iterable[tuple[Key, str, str]], now: float) -> AnnouncedRun:
        """An epoch of `run_id` begins: these keys, each with name and kind, will come."""
        run = self.get(run_id)
        if run is None:
            run = self._runs[run_id] = AnnouncedRun(run_id, now)
            if len(self._runs) > RUN_LIMIT:
                self.end(next(iter(self._runs)))
        epoch = Epoch()
        for key, name, kind in tasks:
            run.labels[key] = (name, kind)
            self._epochs[key] = epoch
        return run

    def end(self, run_id: str) -> None:
        """The client wants no more records of the run."""
        run = self._runs.pop(run_id, None)
        if run is not None:
            for key in run.labels:
                self._epochs.pop(key, None)
            self._given_up(run)

    def clear(self) -> None:
        """Give up all runs."""
        for run_id in list(self._runs):
            self.end(run_id)
