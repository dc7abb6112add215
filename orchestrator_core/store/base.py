"""The contract of a store, and the plain records that go in and come out.

A store may lose everything at any time: that costs speed, never a run. It knows no planner and no
estimator; it keeps what it is given and finds it again.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Protocol

from orchestrator_core.costs.observation import Observation
from orchestrator_core.execute.record import RunRecord, TaskRecord, error_of
from orchestrator_core.graph.amounts import NOTHING, Amounts
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.plan.schedule import Schedule

KEEP_SCHEDULES = 10_000
"""Schedules that a store keeps by default; those used longest ago go first."""

KEEP_FINDINGS = 1_000
"""Findings that a store keeps; those written longest ago go first."""

KEEP_RUNS = 200
"""Runs that a store keeps of each flow (name and origin) by default; the oldest go first."""

UNFINISHED = ("failed", "left")
"""How executions end that are learned from only where a kind has no better ones."""


@dataclass(frozen=True, slots=True)
class ScheduleKey:
    """Under what a schedule is remembered.

    Attributes:
        graph_signature, cluster_signature: digests that know no names.
        objective: what was minimised.
        cost_bucket: durations and sizes, roughly; costs that drift away land in another bucket.
    """

    graph_signature: str
    cluster_signature: str
    objective: str
    cost_bucket: str


@dataclass(frozen=True, slots=True)
class StoredSchedule:
    """A schedule in memory.

    Attributes:
        schedule: over canonical places: task and worker names are ``"0"``, ``"1"``, ...
        makespan, lower_bound: seconds. bound_method, planner: as in `PlanResult`.
        prices: digest of the exact durations and sizes that it was made for; where they are the
            same again, so is the bound.
        created_at, used_at: seconds since 1970 (UTC). hits: how often it was found.
        flow: the flow that it was first planned for; one key may serve several.
    """

    key: ScheduleKey
    schedule: Schedule
    makespan: float
    lower_bound: float
    bound_method: str
    prices: str
    planner: str
    created_at: float
    used_at: float
    hits: int = 0
    flow: str = ""


@dataclass(frozen=True, slots=True)
class StoredFinding:
    """What was found about a graph on workers like these.

    Attributes:
        graph_signature: digest that knows no names. crowd: digest of the workers without their
            names and links.
        text: as `orchestrate` writes it. updated_at: seconds since 1970 (UTC).
    """

    graph_signature: str
    crowd: str
    text: bytes
    updated_at: float


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line about a run.

    Attributes:
        started_at: seconds since 1970 (UTC). seconds: how long it took.
        predicted, lower_bound: seconds, or None if nothing was planned; `PlanRecord.forecast`.
        cache: ``hit``, ``near``, ``miss``, or empty if nothing was planned.
        tasks: number of task records. origin: where the flow's code stands; empty if not known.
        others: part of the workers' time, from 0 to 1, that tasks of other runs had.
    """

    run_id: str
    flow: str
    started_at: float
    seconds: float
    mode: str
    predicted: float | None
    lower_bound: float | None
    cache: str
    status: str
    tasks: int
    graph_signature: str
    origin: str = ""
    others: float = 0.0

    @property
    def error(self) -> float | None:
        """As of `error_of`."""
        return error_of(self.seconds, self.predicted, self.status, self.tasks, self.others)


class Store(Protocol):
    """Schedules and runs, kept between runs.

    The law, for every implementation:

    - Any method may be called from any thread. Each is atomic: it happened, or it did not.
    - A method that cannot do its work raises `StoreError`; nothing else leaves a store.
    - `put` keeps one schedule for each key. The better one wins: the smaller makespan, and between
      equal makespans the larger lower bound. Replacing keeps `hits`.
    - `find` gives the schedule of exactly that key, or None; being found counts as a hit.
      `find_near` gives the last used schedule that differs in nothing but the cost bucket: to
      repair and to search from, never to follow as it is. It counts no hit.
    - `schedules` and `runs` give the newest first (by `used_at`, by `started_at`).
    - `add_run` with a `run_id` that is there replaces that run. Task records with a start or end
      that is no finite number are left out.
    - `run` takes a run's id or the beginning of one, if only one run begins so; else `UnknownRun`.
    - `latest_run` gives the newest run of a flow with status ``ok``, or None. With an `origin`,
      `runs` and `latest_run` give runs of exactly that origin.
    - `clusters` gives the different clusters (by signature) that runs used, the last used first.
    - `observations` gives executions with status ``ok``, of each task's last attempt in each run,
      the newest first, at most `limit_per_kind` of each kind; of a kind that has none, those that
      failed or were left. `kinds` are those that have any of these, in alphabetical order.
    - `put_costs` and `costs` keep one text for each name: what was learned, as `learn` writes it.
    - `put_finding` replaces what was found about that graph and crowd; `finding` gives it, or
      None; `findings` gives the newest first.
    - What does not fit (`KEEP_SCHEDULES`, `KEEP_RUNS`, `KEEP_FINDINGS`) is forgotten, the oldest
      first.
    - What was damaged is dropped and counted in `dropped`; it is as if it had never been there.
    - After `close`, which may be called twice, every other method raises `StoreError`.
    """

    @property
    def dropped(self) -> int:
        """How many damaged records were met and dropped."""
        ...

    def find(self, key: ScheduleKey) -> StoredSchedule | None: ...

    def find_near(self, key: ScheduleKey) -> StoredSchedule | None: ...

    def put(self, stored: StoredSchedule) -> bool:
        """Keep a schedule; False if a better one is there."""
        ...

    def schedules(
        self, *, flow: str | None = None, graph_signature: str | None = None, limit: int = 100
    ) -> list[StoredSchedule]: ...

    def add_run(self, run: RunRecord) -> None: ...

    def run(self, run_id: str) -> RunRecord: ...

    def runs(
        self, *, flow: str | None = None, origin: str | None = None, limit: int = 50
    ) -> list[RunSummary]: ...

    def latest_run(self, flow: str, origin: str | None = None) -> RunRecord | None: ...

    def clusters(self, *, limit: int = 10) -> list[Cluster]: ...

    def kinds(self) -> list[str]: ...

    def observations(
        self, kinds: Collection[str], limit_per_kind: int = 2000
    ) -> list[Observation]: ...

    def put_costs(self, name: str, text: bytes) -> None: ...

    def costs(self, name: str) -> bytes | None: ...

    def put_finding(self, found: StoredFinding) -> None: ...

    def finding(self, graph_signature: str, crowd: str) -> StoredFinding | None: ...

    def findings(self, *, limit: int = 100) -> list[StoredFinding]: ...

    def close(self) -> None: ...


def storable(run: RunRecord) -> RunRecord:
    """The run without task records whose times are no finite numbers."""
    tasks = tuple(t for t in run.tasks if math.isfinite(t.start) and math.isfinite(t.end))
    return run if len(tasks) == len(run.tasks) else replace(run, tasks=tasks)


def teaching(run: RunRecord) -> list[TaskRecord]:
    """The task records that durations may be learned from: status ok, last attempt, > 0 seconds."""
    last: dict[str, int] = {}
    for record in run.tasks:
        last[record.task] = max(record.attempt, last.get(record.task, 0))
    return [
        record
        for record in run.tasks
        if record.status == "ok" and record.attempt == last[record.task] and record.work_seconds > 0
    ]


def failing(run: RunRecord) -> list[TaskRecord]:
    """The task records that durations are learned from where a kind has never ended well."""
    return [each for each in run.tasks if each.status in UNFINISHED and each.work_seconds > 0]


def summary_of(run: RunRecord) -> RunSummary:
    """The line about a run."""
    plan = run.plan
    return RunSummary(
        run_id=run.run_id,
        flow=run.flow,
        started_at=run.started_at,
        seconds=run.seconds,
        mode=run.mode,
        predicted=plan.forecast if plan else None,
        lower_bound=plan.lower_bound if plan else None,
        cache=plan.cache if plan else "",
        status=run.status,
        tasks=len(run.tasks),
        graph_signature=run.graph_signature,
        origin=run.origin,
        others=run.share_of_others,
    )


def observation_of(record: TaskRecord, run_id: str, features: Amounts = NOTHING) -> Observation:
    """What a task record teaches; `features` of the task, as the run's graph has them."""
    return Observation(
        task=record.task,
        kind=record.kind,
        worker=record.worker,
        worker_kind=record.worker_kind,
        seconds=record.work_seconds,
        nbytes=record.nbytes,
        run_id=run_id,
        memory_peak=record.memory_peak,
        device_memory=record.device_memory,
        setup_seconds=record.setup_seconds,
        overhead_seconds=record.overhead_seconds,
        features=features,
    )


def features_of(record: TaskRecord, run: RunRecord) -> Amounts:
    """The features of the task, as the graph of the run has them."""
    place = run.graph.index.get(record.task)
    return NOTHING if place is None else run.graph.features(place)
