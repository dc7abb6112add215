"""Sight: all that is seen of a run at one moment, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from orchestrator_core.graph.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Execution:
    """A task that was executed, and where; times in seconds from the start of the run."""

    worker: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Sight:
    """What is seen of a run; tasks and workers by name, times in seconds from its start.

    Attributes:
        now: the moment.
        cluster: the workers that take tasks.
        paused: workers that are there and begin none for now, be they of the cluster or not.
        finished: tasks whose output is there, or was there and is needed no more.
        sent: tasks that a worker has been told of, with the worker and the moment.
        executing: since when a worker executes a task, as far as workers have said so.
        copies: where the output of a finished task is, if not where it was made.
        gone: tasks that nobody wants any more.
        others: how many tasks of other runs a worker executes, or will before those of this run.
        occupied: until when threads of a worker are theirs, each by itself.
    """

    now: float
    cluster: Cluster
    paused: Set[str] = frozenset()
    finished: Mapping[str, Execution] = field(default_factory=dict)
    sent: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    executing: Mapping[str, float] = field(default_factory=dict)
    copies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    gone: Set[str] = frozenset()
    others: Mapping[str, int] = field(default_factory=dict)
    occupied: Mapping[str, Sequence[float]] = field(default_factory=dict)
