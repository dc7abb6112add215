"""Stored: what the tasks of a graph read that was computed before, and the workers that have it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from orchestrator_core.execute.directives import Key

if TYPE_CHECKING:
    from distributed.scheduler import TaskState, WorkerState

    from orchestrator_core.execute.dask.workers.roster import Roster

SMALLEST = 100_000
"""Bytes below which an output is as good as everywhere."""


class Stored(NamedTuple):
    """An output: its bytes, and the names of the workers that have it."""

    nbytes: float
    workers: tuple[str, ...]


def stored_of(states: Iterable[TaskState], roster: Roster) -> dict[Key, Stored]:
    """The inputs of these tasks that are there; what is small is left out."""
    found: dict[Key, Stored] = {}
    named: dict[tuple[WorkerState, ...], tuple[str, ...]] = {}
    for state in states:
        for source in state.dependencies:
            # On the event loop, and of most inputs nothing is there yet: that is asked first.
            if source.who_has and source.nbytes >= SMALLEST and source.key not in found:
                there = tuple(source.who_has)
                if there not in named:
                    named[there] = tuple(sorted([roster.name(worker.address) for worker in there]))
                found[source.key] = Stored(source.nbytes, named[there])
    return found
