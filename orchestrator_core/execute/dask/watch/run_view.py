"""RunView: one run as those who watch see it, be it a whole graph or announced task by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from orchestrator_core.execute.dask.graphs.announced import AnnouncedRun
from orchestrator_core.execute.dask.graphs.ended import as_record
from orchestrator_core.execute.dask.graphs.runs import GraphRun
from orchestrator_core.execute.dask.plans.steered import Steered
from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.record import PlanRecord, TaskRecord
from orchestrator_core.plan.schedule import Schedule

if TYPE_CHECKING:
    from orchestrator_core.execute.dask.session import Session

Recorded = Sequence[tuple[Key, TaskRecord]]


class RunView(Protocol):
    """What is known of a run now; nothing is copied, nothing can be changed.

    Attributes:
        run_id: the one under which the run will be stored. flow: what people call it.
        started_at: seconds since 1970 on the scheduler's clock; plan and records count from there.
        tasks, done, recorded: how many tasks there are, how many have come to an end, and how many
            executions are recorded.
        plan: what was promised, followed or not; None if nothing was planned with times.
        schedule: the plan in force, which may be another by now; or the one not followed.
        expected_end: seconds from the start, by what is known now; None if that is not followed.
        stored: names by which the schedule speaks of what was computed before the run.
    """

    run_id: str
    flow: str
    started_at: float
    tasks: int
    done: int
    recorded: int
    mode: str
    reason: str
    closed: bool
    plan: PlanRecord | None
    schedule: Schedule | None
    expected_end: float | None
    stored: Set[str] = frozenset()

    def records(self, first: int, limit: int) -> Recorded:
        """Executions in order of their end, beginning with number `first`."""
        ...

    def last(self, key: Key) -> TaskRecord | None:
        """The last recorded execution of the task; None if there is none."""
        ...

    def label(self, key: Key) -> tuple[str, str] | None:
        """Name and kind of a task; None if it is not of this run."""
        ...

    def find(self, name: str) -> Key | None:
        """The key of the planned task of that name."""
        ...

    def seconds(self, now: float) -> float:
        """How long it has run at `now` (seconds since 1970), or ran."""
        ...


class GraphView(RunView):
    """A graph that was submitted as a whole."""

    def __init__(self, run: GraphRun, steered: Steered | None) -> None:
        self._run = run
        self.run_id = run.run_id
        self.flow = run.snapshot.flow
        self.started_at = run.started_at
        self.tasks = len(run.snapshot)
        self.done = self.tasks - len(run.open)
        self.recorded = len(run.ended)
        self.mode = "planned" if run.adopted else "observed"
        self.reason = run.reason
        self.closed = run.closed
        self.plan = plan = None if run.advice is None else run.advice.plan
        self.schedule = None if plan is None else plan.schedule
        if plan is not None:
            self.stored = frozenset(run.snapshot.there.values())
        self.expected_end = self.seconds(0.0) if run.closed and run.adopted else None
        if steered is not None:
            self.schedule = steered.course.schedule
            self.expected_end = steered.expected_end

    def records(self, first: int, limit: int) -> Recorded:
        return self._run.records(first, limit)

    def last(self, key: Key) -> TaskRecord | None:
        run = self._run
        found = next((each for each in reversed(run.ended) if each[0] == key), None)
        return None if found is None else as_record(run.label(key), found)

    def label(self, key: Key) -> tuple[str, str] | None:
        try:
            return self._run.label(key)
        except KeyError:
            return None

    def find(self, name: str) -> Key | None:
        return self._run.snapshot.key_of.get(name)

    def seconds(self, now: float) -> float:
        if not self.closed:
            return now - self.started_at
        return max((ended[4] for ended in self._run.ended), default=0.0)


class AnnouncedView(RunView):
    """A run whose client submits task by task, and keeps the times of its plan to itself."""

    plan: PlanRecord | None = None
    schedule: Schedule | None = None
    expected_end: float | None = None
    closed = False
    mode = "announced"
    reason = "its client plans"

    def __init__(self, run: AnnouncedRun) -> None:
        self._run = run
        self.run_id = self.flow = run.run_id
        self.started_at = run.started_at
        self.tasks = len(run.labels)
        self.recorded = len(run.records)
        self.done = self.tasks - len(run.open)

    def records(self, first: int, limit: int) -> Recorded:
        return list(islice(self._run.records, first, first + limit))

    def last(self, key: Key) -> TaskRecord | None:
        return next((record for of, record in reversed(self._run.records) if of == key), None)

    def label(self, key: Key) -> tuple[str, str] | None:
        return self._run.labels.get(key)

    def find(self, name: str) -> Key | None:
        return None

    def seconds(self, now: float) -> float:
        return now - self.started_at


def views(session: Session) -> Mapping[str, RunView]:
    """The runs under way by their ids, the oldest first; if there are none, the last that ended."""
    found: list[RunView] = [GraphView(run, session.control.get(run)) for run in session.runs]
    found += [AnnouncedView(run) for run in session.announcements.runs]
    if not found and session.last_run is not None:
        found = [GraphView(session.last_run, None)]
    found.sort(key=lambda view: view.started_at)
    return {view.run_id: view for view in found}
