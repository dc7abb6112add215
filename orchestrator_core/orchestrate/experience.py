"""Experience: how runs of a graph went beside what simulations said of them.

A simulation of Dask knows neither its lags nor its luck, and one of a plan leaves out what nobody
measured. What runs of the same graph on the same cluster really took, corrects both; so a plan that
turned out worse than Dask alone is not followed again.

That is told by runs in which the same tasks did their work. One whose results were stored, or whose
first task failed, is over in no time, and says nothing of the next, in which all is to be done;
unless it happens again, such as where a first step is always stored.

Runs may also have gone otherwise because durations were believed that were wrong, which are not by
now; or the data have grown since. So a lesson counts as far as it was so when it was learned, and
would be so today.
"""

from __future__ import annotations

import math
from collections import OrderedDict, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from orchestrator_core.execute.record import CACHED, SHARED, RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.learn.levels import lately
from orchestrator_core.orchestrate.changeover import changeover_of, rounded
from orchestrator_core.orchestrate.crowding import crowding_of, usual_crowding

Crowd = tuple[tuple[str, int, float, float], ...]

RUNS = 8
"""Latest runs without a plan that count."""

GRAPHS = 1000
"""Graphs that are remembered; of more, the longest unused is forgotten."""

STEP = 0.5
"""Part of the deviation (log) of a planned run by which the next forecast is corrected."""

LET_GO = 0.1
"""Part of a run's tasks that are to be let go of before it counts as cut short; or that are to fail
before it counts as one in which they had nothing to do."""

FURTHEST = math.log(3.0)
"""Largest correction (log)."""


@dataclass(slots=True)
class Lessons:
    """What runs of one graph on one cluster taught.

    Attributes:
        dask: seconds of the latest runs that were left to Dask, the oldest first.
        begun: seconds until the first task of each of them began; no simulation knows of these.
        drift: log of what a plan really takes over what its simulation says.
        crowding: by how much longer the transfers of the latest runs took than one by one.
        followed: seconds of the latest runs that followed a plan.
        beaten: of each of `dask`, log of the bound that was known over what it took, NaN if none
            was: above 0, durations were overrated.
        cut: was the latest run cut short? idle: the tasks that did none of their work in the runs
            that count. idle_last: those of the latest run, see `admits`.
    """

    dask: list[float] = field(default_factory=list)
    drift: float = 0.0
    begun: list[float] = field(default_factory=list)
    crowding: list[float] = field(default_factory=list)
    followed: list[float] = field(default_factory=list)
    beaten: list[float] = field(default_factory=list)
    cut: bool = False
    idle: frozenset[str] = frozenset()
    idle_last: frozenset[str] = frozenset()

    @staticmethod
    def of_dask(runs: Sequence[RunRecord], cluster: Cluster) -> Lessons:
        """What runs of one graph, the newest first, taught that were left to Dask, those on such
        workers alone.

        They count from their first tasks, as forecasts of flows, whose lead is told apart.
        """
        kept = [
            run
            for run in runs
            if run.tasks and crowd_of(run.cluster) == crowd_of(cluster) and was_alone(run)
        ]
        found = Lessons()
        for run in kept[::-1]:
            if found.admits(idle_in(run), len(run.graph)):
                found.dask.append(run.seconds - min(task.start for task in run.tasks))
                bound = 0.0 if run.plan is None else run.plan.lower_bound
                found.beaten.append(_beaten(bound, run.seconds))
        return found

    def admits(self, idle: frozenset[str], tasks: int) -> bool:
        """Note a run of so many tasks in which these were idle; does what it took count?

        Where others are idle for the second time, earlier runs no longer count.
        """
        again, self.idle_last = idle == self.idle_last, idle
        if idle == self.idle:
            return True
        if idle and (not again or len(idle) >= tasks):
            return False
        self.dask, self.begun, self.crowding, self.followed, self.beaten = [], [], [], [], []
        self.drift, self.idle = 0.0, idle
        return True

    @property
    def usual_crowding(self) -> float:
        """By how much longer transfers will take, >= 1."""
        return usual_crowding(self.crowding)

    @property
    def usual_dask(self) -> float:
        """Seconds that Dask will take by its latest runs; 0 if there were none.

        The median, but where they clearly become longer or shorter, what the last of them say.
        """
        if not self.dask:
            return 0.0
        later = lately(np.log(self.dask[::-1]))
        return median(self.dask) if later is None else math.exp(later)

    def planned(
        self, simulated: float, overrated: float = 0.0, drift: float | None = None
    ) -> float:
        """Seconds that the plan will take; see `overrated`. `drift`: that of another simulation."""
        by = self.drift_of(simulated) if drift is None else drift
        return self._begun_with(simulated) * math.exp(by - overrated)

    def drift_of(self, simulated: float) -> float:
        """The drift, as far as earlier plans took longer, or less, than what is now simulated."""
        if not self.followed or simulated <= 0:
            return self.drift
        now = _within(math.log(median(self.followed) / self._begun_with(simulated)))
        return _both(self.drift, now)

    def default(self, simulated: float, off: float | None = None) -> float:
        """Seconds that Dask alone will take; `off`: that of another simulation, to be taken."""
        return self._begun_with(simulated) * math.exp(self.off(simulated) if off is None else off)

    def off(self, simulated: float, bound: float = 0.0) -> float:
        """Log of what Dask alone will take over what this simulation of it says.

        The more runs there were, the less the simulation counts. With the `bound` of what is
        simulated, runs of fewer or more data than now count only as far as they took longer, or
        less, beside their own bounds, too.
        """
        n = len(self.dask)
        if not n or simulated <= 0:
            return 0.0
        begun = self._begun_with(simulated)
        now = _within(math.log(self.usual_dask / begun))
        if bound > 0 and self._with_bounds:
            beside = math.log(bound / begun)
            each = [_both(math.log(took / begun), beside - by) for took, by in self._with_bounds]
            now = _both(now, _within(median(each)))
        return now * n / (n + 1)

    def overrated(self, bound: float) -> float:
        """By how much (log, >= 0) durations are overrated, for Dask took less than the `bound`:
        the seconds below which no run can be if tasks take as long as they are expected to.

        Whoever places the tasks, they take so much less. That Dask took less than by any simulation
        of it is no such sign, for a simulation may choose worse than Dask does; and to take longer
        is Dask's own affair: no plan waits for what it waits for.
        """
        now = max(0.0, -self.off(bound))
        known = [by for _, by in self._with_bounds]
        return min(now, max(0.0, median(known))) if known else now

    @property
    def _with_bounds(self) -> list[tuple[float, float]]:
        """What runs took that were left to Dask, and by how much they beat their bounds."""
        pairs = zip(self.dask, self.beaten, strict=False)
        return [(took, by) for took, by in pairs if not math.isnan(by)]

    def _begun_with(self, simulated: float) -> float:
        return simulated + (median(self.begun) if self.begun else 0.0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run went.

    Attributes:
        graph_signature, crowd: of what, on whom. seconds: how long it took, > 0.
        predicted: what the plan that was followed had promised; None if Dask was left alone.
        begun: seconds until its first task began.
        changeover: seconds between two tasks of a worker. crowding: by how much longer its large
            transfers took than one by one. None where not known.
        cut: was it cut short? Nothing else of it counts, then.
        tasks: how many it had. idle: those that did none of their work, see `idle_in`.
    """

    graph_signature: str
    crowd: Crowd
    seconds: float
    predicted: float | None
    begun: float = 0.0
    changeover: float | None = None
    crowding: float | None = None
    bound: float = 0.0
    cut: bool = False
    tasks: int = 1
    idle: frozenset[str] = frozenset()

    @staticmethod
    def of(run: RunRecord) -> Outcome | None:
        """The outcome of a run; None if it teaches nothing."""
        if was_cut(run):
            place = run.graph_signature, crowd_of(run.cluster)
            return Outcome(*place, run.seconds, None, cut=True)
        if run.status != "ok" or run.seconds <= 0 or not was_alone(run):
            return None
        predicted = None
        if run.mode == "planned":
            if run.plan is None or run.plan.predicted <= 0:
                return None
            predicted = run.plan.predicted
        return Outcome(
            run.graph_signature,
            crowd_of(run.cluster),
            run.seconds,
            predicted,
            min((task.start for task in run.tasks), default=0.0),
            changeover_of(run),
            crowding_of(run),
            0.0 if run.plan is None else max(0.0, run.plan.lower_bound),
            tasks=len(run.graph),
            idle=idle_in(run),
        )


class Experience:
    """Lessons by graph and workers; runs are learned from in the order in which they came."""

    def __init__(self) -> None:
        self._lessons: OrderedDict[tuple[str, Crowd], Lessons] = OrderedDict()
        self._changeovers: dict[Crowd, deque[float]] = defaultdict(lambda: deque(maxlen=RUNS))

    def of(self, graph_signature: str, cluster: Cluster) -> Lessons:
        """What is known; nothing, if there is nothing."""
        return self._lessons.get((graph_signature, crowd_of(cluster)), Lessons())

    def changeover(self, cluster: Cluster) -> float:
        """Seconds that such workers take between two tasks, whatever the graph; 0 if not known."""
        found = self._changeovers.get(crowd_of(cluster))
        return rounded(median(found)) if found else 0.0

    def learn(self, run: RunRecord) -> None:
        """A run came to its end."""
        self.note(Outcome.of(run))

    def note(self, outcome: Outcome | None) -> None:
        """A run came to its end like this; None teaches nothing."""
        if outcome is None:
            return
        key = (outcome.graph_signature, outcome.crowd)
        lessons = self._lessons.setdefault(key, Lessons())
        self._lessons.move_to_end(key)
        if len(self._lessons) > GRAPHS:
            self._lessons.popitem(last=False)
        lessons.cut = outcome.cut
        if outcome.cut or not lessons.admits(outcome.idle, outcome.tasks):
            return
        if outcome.crowding is not None:
            lessons.crowding = [*lessons.crowding, outcome.crowding][-RUNS:]
        if outcome.changeover is not None:
            self._changeovers[outcome.crowd].append(outcome.changeover)
        if outcome.predicted is None:
            lessons.dask = [*lessons.dask, outcome.seconds][-RUNS:]
            lessons.begun = [*lessons.begun, outcome.begun][-RUNS:]
            beaten = _beaten(outcome.bound, outcome.seconds)
            lessons.beaten = [*lessons.beaten, beaten][-RUNS:]
        else:
            lessons.followed = [*lessons.followed, outcome.seconds][-RUNS:]
            # The forecast had the correction in it that was known by then.
            off = _within(math.log(outcome.seconds / outcome.predicted))
            lessons.drift = _within(lessons.drift + STEP * off)


def crowd_of(cluster: Cluster) -> Crowd:
    """The workers without names and links, of which more is learned from run to run."""
    return tuple(sorted((w.kind, w.threads, w.memory, w.speed) for w in cluster.workers))


def was_cut(run: RunRecord) -> bool:
    """Did somebody take some of its results, and let go of the rest?"""
    if run.status != "cancelled" or len(run.dropped) < LET_GO * len(run.graph):
        return False
    inner = {edge.producer for edge in run.graph.edges()}
    return any(task.status == "ok" and task.task not in inner for task in run.tasks)


def idle_in(run: RunRecord) -> frozenset[str]:
    """The tasks that did none of their work: their results were stored; or they failed, or could
    not begin, where those are more than a few."""
    by_status: defaultdict[str, set[str]] = defaultdict(set)
    for task in run.tasks:
        by_status[task.status].add(task.task)
    worked = by_status["ok"]
    failed = by_status["failed"] - worked
    if len(failed) < LET_GO * len(run.graph):
        failed = set()
    return frozenset((by_status[CACHED] - worked) | failed)


def was_alone(run: RunRecord) -> bool:
    """Had it its workers to itself, and no others? Where some joined only after it had begun, or
    worked for other runs as well, it says nothing about how long it takes."""
    others = {task.worker for task in run.tasks} - run.cluster.index.keys()
    return not others and run.share_of_others <= SHARED


def _beaten(bound: float, seconds: float) -> float:
    return math.log(bound / seconds) if min(bound, seconds) > 0 else math.nan


def _both(one: float, other: float) -> float:
    """What two deviations have in common; 0 where they are on different sides."""
    return 0.0 if one * other <= 0 else math.copysign(min(abs(one), abs(other)), one)


def _within(deviation: float) -> float:
    return max(-FURTHEST, min(FURTHEST, deviation))
