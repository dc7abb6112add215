"""Stored: what the tasks of a graph read that was computed before, and the workers that have it.

What `persist` or `scatter` has put somewhere has to come to the workers where its readers are. To
those who plan, each such output is a task without length that can run only where it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.directives import Key
from orchestrator_core.graph.anywhere import anywhere

if TYPE_CHECKING:
    from distributed.scheduler import TaskState, WorkerState

    from orchestrator_core.execute.dask.workers.roster import Roster

SMALLEST = 100_000
"""Bytes below which an output is as good as everywhere."""

KIND = "(stored)"
"""The kind of the tasks that stand for such outputs; no durations are learned about it."""


class Stored(NamedTuple):
    """An output: its bytes, and the names of the workers that have it and take tasks."""

    nbytes: float
    workers: tuple[str, ...]


def stored_of(states: Iterable[TaskState], roster: Roster) -> dict[Key, Stored]:
    """The inputs of these tasks that are there; what is small is left out, and what all workers
    have, or none that takes tasks."""
    found: dict[Key, Stored] = {}
    named: dict[tuple[WorkerState, ...], tuple[str, ...]] = {}
    for state in states:
        for source in state.dependencies:
            # On the event loop, and of most inputs nothing is there yet: that is asked first.
            if source.who_has and source.nbytes >= SMALLEST and source.key not in found:
                there = tuple(source.who_has)
                if there not in named:
                    named[there] = _names(there, roster)
                if named[there]:
                    found[source.key] = Stored(source.nbytes, named[there])
    return found


def unbound(instance: Instance, names: Collection[str]) -> Instance:
    """The same where the stored inputs of these names may be anywhere: one that is lost while the
    run goes on comes to be wherever Dask makes it again."""
    if not names:
        return instance
    graph, seconds = instance.graph, instance.seconds.copy()
    seconds[graph.mode_ptr[[graph.index[name] for name in names]]] = 0.0
    return Instance(anywhere(graph, names), instance.cluster, seconds)


def _names(workers: Iterable[WorkerState], roster: Roster) -> tuple[str, ...]:
    cluster = roster.cluster()
    names = {roster.name(worker.address) for worker in workers}
    if cluster is None or names.issuperset(cluster.index):
        return ()
    return tuple(sorted(names.intersection(cluster.index)))
