"""RunRecord: what really happened (what stage 4 hands to stage 5).

Plain data: names, sizes and times; never arguments, results or source, but how large numbers and
collections among the arguments are. Times of tasks are seconds from the start of the run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from orchestrator_core import words
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.part import part
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Schedule

SHARED = 0.05
"""Part of the workers' time that other runs may have had, and a run still counts as alone."""

CACHED = "cached"
"""Status of a task whose result was stored."""

LEFT = "left"
"""Status of a task that still ran when its flow ended."""


def error_of(
    seconds: float, forecast: float | None, status: str, tasks: int, others: float
) -> float | None:
    """How much longer a run took than forecast, as a fraction; None where nobody can say.

    Of a run that was cancelled, if only in part, nobody can, since the forecast is for all of its
    tasks; nor of one in which no task came to its end, or of which `others` had a part of the
    workers' time, since forecasts are for one run at a time.
    """
    if forecast is None or forecast <= 0 or status == "cancelled" or not tasks or others > SHARED:
        return None
    return seconds / forecast - 1


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One execution of one task.

    Attributes:
        task: its name, stable from run to run.
        kind: what durations are learned about.
        worker, worker_kind: where it ran.
        start, end: seconds from the start of the run.
        nbytes: size of its output.
        transfer_seconds: time that the worker spent fetching its inputs before it started.
        attempt: 1 for the first try.
        memory_peak: bytes, if the worker measured it.
        status: ``ok``, ``failed`` (it raised), ``cached`` (its result was taken from a cache) or
            ``left`` (it still ran when the flow ended, which had not waited for it).
        setup_seconds: part of it that was no work of its own: compiling, or waiting for an
            accelerator's memory. It is not learned.
        device_memory: bytes that it needs on an accelerator, if that was told.
        overhead_seconds: part of it that went into what Prefect does around the task's own code,
            if that was measured.
    """

    task: str
    kind: str
    worker: str
    worker_kind: str
    start: float
    end: float
    nbytes: float = 0.0
    transfer_seconds: float = 0.0
    attempt: int = 1
    memory_peak: float | None = None
    status: str = "ok"
    setup_seconds: float = 0.0
    device_memory: float | None = None
    overhead_seconds: float | None = None

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def work_seconds(self) -> float:
        """Without what is not learned."""
        return self.seconds - self.setup_seconds


@dataclass(frozen=True, slots=True)
class Burst:
    """Tasks that a flow's own code submitted in one go, and what it did before.

    A flow submits a burst, waits for some of its tasks, computes, submits the next. So no burst
    goes out before the one in front of it, nor before the end of what was waited for since.

    Attributes:
        size: number of its tasks; the bursts share the run's graph in the order of their tasks.
        after: tasks whose end the code waited for since the burst in front.
        pause: seconds from the later of both until it went out; for the first burst, from the
            first submission.
    """

    size: int
    after: tuple[str, ...] = ()
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """What was promised for a run, and whether it was followed.

    Attributes:
        schedule: over the task names of the run.
        predicted: seconds that the run takes if the plan is followed.
        lower_bound, bound_method: seconds in which no plan ends, and how that was proven.
        default_predicted: seconds that it takes under Dask's own policy; None if not known.
        cache: ``hit`` (a stored schedule), ``near`` (begun from one that was stored for other
            costs), ``miss`` (planned now).
        adopted: was it carried out? If not, `reason` says why.
        parts: how many plans it was made of, each as another part of the run was submitted; then
            `predicted` is what the last of them said.
    """

    schedule: Schedule
    predicted: float
    lower_bound: float
    bound_method: str
    planner: str
    cache: str
    adopted: bool
    reason: str
    default_predicted: float | None = None
    planning_seconds: float = 0.0
    parts: int = 1

    def __repr__(self) -> str:
        followed = "followed" if self.adopted else "not followed"
        return (
            f"PlanRecord({self.schedule!r}, {followed}, forecast {words.seconds(self.forecast)}, "
            f"bound {words.seconds(self.lower_bound)}, by {self.planner}, {self.cache})"
        )

    @property
    def forecast(self) -> float:
        """Seconds that the run was expected to take as it was carried out."""
        if self.adopted or self.default_predicted is None:
            return self.predicted
        return self.default_predicted

    @property
    def gap(self) -> float | None:
        """By what part of it the plan on paper is at most longer than the best; None where nothing
        is proven. (A forecast may be shorter than the plan, by what earlier runs taught: that
        brings it no closer to the best.)"""
        if not math.isfinite(self.lower_bound) or self.lower_bound <= 0:
            return None
        return words.gap_of(self.schedule.makespan, self.lower_bound)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of a flow or a Dask graph.

    Attributes:
        run_id: unique, 32 hexadecimal digits.
        flow: name of the flow, or of the Dask graph's main task kind.
        started_at: seconds since 1970 (UTC).
        seconds: from the first submission to the last end.
        mode: ``observed`` or ``planned``.
        reason: one sentence on why this mode.
        graph, cluster: what ran, on what; graph_signature, cluster_signature: their keys.
        plan: the promise, or None if nothing was planned.
        tasks: in order of their start.
        status: ``ok``, ``failed`` or ``cancelled``.
        measured: the cluster at the end of the run, with links as transfers were found to take;
            None if none was measured.
        bursts: how the flow's code submitted the tasks; none where a graph came as a whole.
        dropped: tasks that had not begun when the flow ended, which had not waited for them; of a
            Dask graph, those that nobody wanted any more before they had ended.
        origin: where the flow's code stands, as `orchestrator_core.origin` says it; empty where
            nobody knows.
        others: seconds for which tasks of other runs had threads of the workers meanwhile.
        with_stored: the graph with what it read that was computed before, as tasks without length;
            the plan speaks of these, too. None where there was no such thing.
    """

    run_id: str
    flow: str
    started_at: float
    seconds: float
    mode: str
    reason: str
    graph: TaskGraph
    cluster: Cluster
    graph_signature: str
    cluster_signature: str
    plan: PlanRecord | None = None
    tasks: tuple[TaskRecord, ...] = ()
    status: str = "ok"
    notes: tuple[str, ...] = field(default=())
    measured: Cluster | None = None
    bursts: tuple[Burst, ...] = ()
    origin: str = ""
    dropped: tuple[str, ...] = ()
    others: float = 0.0
    with_stored: TaskGraph | None = None

    def __repr__(self) -> str:
        """What matters of it on a line; the fields are there for the rest."""
        promised = "" if self.plan is None else f", forecast {words.seconds(self.plan.forecast)}"
        return (
            f"RunRecord({self.run_id[:8]!r} of {self.flow!r}: "
            f"{words.plural(len(self.graph), 'task')} on "
            f"{words.plural(len(self.cluster), 'worker')} in {words.seconds(self.seconds)}"
            f"{promised}, {self.mode}, {self.status})"
        )

    @property
    def error(self) -> float | None:
        """As of `error_of`."""
        forecast = self.plan.forecast if self.plan is not None else None
        others = self.share_of_others
        return error_of(self.seconds, forecast, self.status, len(self.tasks), others)

    def beside(self, others: float) -> RunRecord:
        """The run, known to have shared its workers: others had threads for so many seconds."""
        run = replace(self, others=others)
        return replace(run, notes=(*run.notes, run.sharing)) if run.sharing else run

    @property
    def sharing(self) -> str:
        """For people: what others had of the workers' time; empty if it was next to nothing."""
        share = self.share_of_others
        if share <= SHARED:
            return ""
        had = f"tasks that are not its own had {share:.0%} of the workers' time"
        return f"{had}; forecasts are for one run at a time"

    @property
    def share_of_others(self) -> float:
        """Part of the workers' time, from 0 to 1, that tasks of other runs had meanwhile."""
        whole = self.seconds * sum(worker.threads for worker in self.cluster.workers)
        return min(1.0, self.others / whole) if whole > 0 else 0.0

    @property
    def planned_graph(self) -> TaskGraph:
        """The graph that the plan speaks of."""
        return self.graph if self.with_stored is None else self.with_stored

    @property
    def stored(self) -> frozenset[str]:
        """What the plan speaks of that was computed before the run."""
        if self.with_stored is None:
            return frozenset()
        return frozenset(self.with_stored.index.keys() - self.graph.index.keys())

    @property
    def left(self) -> frozenset[str]:
        """Tasks that the run ended without, begun or not; none, if it waited for no task at all."""
        running = {task.task for task in self.tasks if task.status == LEFT}
        left = running.union(self.dropped)
        return frozenset(left) if left < self.graph.index.keys() else frozenset()

    @property
    def needed(self) -> TaskGraph:
        """The graph without what is `left`: how long the run was followed from these tasks."""
        return part(self.graph, self.graph.index.keys() - self.left) if self.left else self.graph

    @staticmethod
    def from_json(text: str | bytes) -> RunRecord:
        """The run that `to_json` wrote.

        Raises:
            InvalidInput: if the text is no such JSON, or its graph or cluster cannot be.
        """
        from orchestrator_core.execute.record_wire import decode_run

        return decode_run(text)

    def to_json(self) -> bytes:
        """JSON that leaves out whatever is a default; UTF-8."""
        from orchestrator_core.execute.record_wire import encode_run

        return encode_run(self)
