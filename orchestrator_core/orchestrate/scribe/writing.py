"""What is done with runs that are over and with schedules, in whatever process; plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic

from orchestrator_core.errors import OrchestratorError
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.finer_kind import plain_kind
from orchestrator_core.learn.estimator import fit
from orchestrator_core.learn.history_costs import HistoryCosts
from orchestrator_core.orchestrate.experience import Outcome
from orchestrator_core.store.base import Store, StoredFinding, StoredSchedule

Build = Callable[[], RunRecord]
"""Makes the record of a run, which takes time; can be pickled where a scribe is to call it."""

Speeds = tuple[tuple[str, float], ...]
"""Declared speed of each kind of worker."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What all runs teach, and how many seconds it took to learn that."""

    costs: HistoryCosts
    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class Written:
    """A run was written.

    Attributes:
        outcome: how it went; None if that teaches nothing.
        learned: what all runs teach, if that was asked for.
    """

    outcome: Outcome | None
    learned: Learned | None


@dataclass(frozen=True, slots=True)
class WriteRun:
    """Write the run, and learn from all that is there if `learn`."""

    build: Build
    learn: bool

    def do(self, store: Store) -> Written:
        run = self.build()
        store.add_run(run)
        learned = learn_all(store, run.cluster.workers) if self.learn else None
        return Written(Outcome.of(run), learned)


@dataclass(frozen=True, slots=True)
class Learn:
    """Learn from all that is there, for workers like the latest run's."""

    def do(self, store: Store) -> Learned | None:
        """None if there are no runs."""
        clusters = store.clusters(limit=1)
        return learn_all(store, clusters[0].workers) if clusters else None


@dataclass(frozen=True, slots=True)
class KeepSchedule:
    """Keep the schedule."""

    stored: StoredSchedule

    def do(self, store: Store) -> None:
        store.put(self.stored)


@dataclass(frozen=True, slots=True)
class KeepFinding:
    """Keep what was found about a graph."""

    stored: StoredFinding

    def do(self, store: Store) -> None:
        store.put_finding(self.stored)


@dataclass(frozen=True, slots=True)
class Past:
    """What there is to know when a process starts.

    Attributes:
        outcomes: how the latest runs went, the oldest first.
        measured: clusters with the links that these runs found, the latest first.
        learned, schedules, findings: what runs taught, what was planned, and what was found about
            graphs, the latest first; nothing if not asked for.
    """

    outcomes: tuple[Outcome, ...]
    measured: tuple[Cluster, ...] = ()
    learned: Learned | None = None
    schedules: tuple[StoredSchedule, ...] = ()
    findings: tuple[StoredFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    """Tell of the latest `runs`; with `schedules` > 0, of so many, of so many `findings`, and of
    what all runs teach."""

    runs: int
    schedules: int
    findings: int = 0

    def do(self, store: Store) -> Past | None:
        """The past; None if there is none."""
        clusters = store.clusters(limit=1)
        if not clusters:
            return None
        latest = self._latest(store)
        outcomes = tuple(filter(None, map(Outcome.of, reversed(latest))))
        past = Past(outcomes, tuple(run.measured for run in latest if run.measured is not None))
        if not self.schedules:
            return past
        return replace(
            past,
            learned=learn_all(store, clusters[0].workers),
            schedules=tuple(store.schedules(limit=self.schedules)),
            findings=tuple(store.findings(limit=self.findings)),
        )

    def _latest(self, store: Store) -> list[RunRecord]:
        """The newest first."""
        found = []
        for line in store.runs(limit=self.runs):
            # One that cannot be read teaches nothing.
            with suppress(OrchestratorError):
                found.append(store.run(line.run_id))
        return found


def learn_all(store: Store, workers: Iterable[Worker]) -> Learned:
    """What the runs in a store teach, for workers like these."""
    began = monotonic()
    costs = fit(store.observations(store.kinds()), dict(speeds_of(workers)))
    return Learned(costs, monotonic() - began)


def speeds_of(workers: Iterable[Worker]) -> Speeds:
    """The declared speed of each kind of worker."""
    return tuple(sorted({(plain_kind(worker.kind), worker.speed) for worker in workers}))
