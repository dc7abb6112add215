"""Epoch: tasks that were announced together, from then until the last of them has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from orchestrator_core.execute.dask.graphs.ended import Ended
from orchestrator_core.execute.dask.graphs.generation import Generation
from orchestrator_core.execute.dask.graphs.keyed import Keyed
from orchestrator_core.execute.dask.graphs.stored import Stored
from orchestrator_core.execute.directives import Key

RECORDS_PER_TASK = 4
"""Executions that are kept for each task, however often Dask repeats them."""


class Members(Keyed):
    """The tasks of an epoch, as a `Snapshot` shows those of a graph; n tasks.

    Attributes:
        flow: what people call the run. keys, names: (n,).
        pinned: those that no plan may place, as far as they have arrived.
        stored, there: as of a `Snapshot`; a client does not know them.
    """

    def __init__(self, flow: str, names: Mapping[Key, str]) -> None:
        self.flow = flow
        self.keys, self.names = tuple(names), tuple(names.values())
        self.pinned: set[Key] = set()
        self.stored: Mapping[Key, Stored] = {}
        self.there: Mapping[Key, str] = {}

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def plannable(self) -> frozenset[Key]:
        """The keys that a plan may place."""
        return frozenset(self.keys) - self.pinned


class Epoch:
    """A part of an announced run, with a plan of its own; its clock starts when it is announced.

    Attributes:
        run_id: of the run that it is a part of.
        generation: in Dask's priority, of all its tasks; its own until it is to share another's.
        started_at: seconds since 1970. snapshot: its tasks. coming: keys that have
            not arrived yet. notes: what people are to know.
    """

    def __init__(self, run_id: str, names: Mapping[Key, str], started_at: float) -> None:
        self.run_id = run_id
        self.generation = Generation()
        self.started_at = started_at
        self.snapshot = Members(run_id, names)
        self.coming = set(names)
        self.notes: list[str] = []
        self._open = set(names)
        self._ended: list[Ended] = []

    @property
    def open(self) -> Set[Key]:
        """The tasks that have not come to an end yet."""
        return self._open

    @property
    def ended(self) -> Sequence[Ended]:
        """The executions so far, in order of their end; only grows."""
        return self._ended

    @property
    def wanted(self) -> Sequence[Key]:
        """Who submits task by task keeps every result."""
        return self.snapshot.keys

    def label(self, key: Key) -> tuple[str, str]:
        """Name and flow of a task."""
        return self.snapshot.names[self.snapshot.place[key]], self.snapshot.flow

    def arrive(self, key: Key, *, planned: bool) -> None:
        """The task is there; may the plan place it?"""
        self.coming.discard(key)
        if not planned:
            self.snapshot.pinned.add(key)

    def add(self, ended: Ended, shift: float) -> None:
        """A task was executed; its times are `shift` seconds ahead of this epoch's clock."""
        if len(self._ended) < RECORDS_PER_TASK * len(self.snapshot):
            start, end = max(0.0, ended[3] - shift), max(0.0, ended[4] - shift)
            self._ended.append((*ended[:3], start, end, *ended[5:]))

    def settle(self, key: Key) -> bool:
        """The task has come to its end; was it the last one?"""
        if key not in self._open:
            return False
        self._open.discard(key)
        self.coming.discard(key)
        return not self._open
