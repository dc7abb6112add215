"""Followed: what a run must tell so that its plan can be watched and mended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Protocol

from orchestrator_core.execute.dask.graphs.ended import Ended
from orchestrator_core.execute.dask.graphs.generation import Generation
from orchestrator_core.execute.dask.graphs.stored import Stored
from orchestrator_core.execute.directives import Key


class Tasks(Protocol):
    """The tasks of a run; n of them.

    Attributes:
        keys, names: (n,). place: the position of each key. key_of: the key of each name.
        plannable: keys that a plan may place. flow: what people call the run.
        stored: what they read that was there before; there: how a plan names these inputs.
    """

    @property
    def keys(self) -> Sequence[Key]: ...
    @property
    def names(self) -> Sequence[str]: ...
    @property
    def place(self) -> Mapping[Key, int]: ...
    @property
    def key_of(self) -> Mapping[str, Key]: ...
    @property
    def plannable(self) -> frozenset[Key]: ...
    @property
    def flow(self) -> str: ...
    @property
    def stored(self) -> Mapping[Key, Stored]: ...
    @property
    def there(self) -> Mapping[Key, str]: ...
    def __len__(self) -> int: ...


class Followed(Protocol):
    """A run under way: a graph that was submitted as a whole, or an announced epoch.

    Attributes:
        run_id: the same for all parts of one run. generation: of its tasks, as far as it is not
            what Dask has given each of them.
        started_at: seconds since 1970; the clock of the plan and of `ended`.
        snapshot: its tasks. coming: keys that have not arrived yet. open: those that have not
            come to an end. ended: the executions so far.
        notes: what people are to know.
    """

    notes: list[str]
    generation: Generation

    @property
    def run_id(self) -> str: ...
    @property
    def started_at(self) -> float: ...
    @property
    def snapshot(self) -> Tasks: ...
    @property
    def coming(self) -> Set[Key]: ...
    @property
    def open(self) -> Set[Key]: ...
    @property
    def ended(self) -> Sequence[Ended]: ...
    def label(self, key: Key) -> tuple[str, str]:
        """Name of a task, and something more about it."""
        ...
