"""Anew: runs that were left to Dask are judged again when other workers are there, or for the first
time when there is somebody to ask.

On workers that are all alike no plan is worth it; then a faster one joins. Or a graph comes while
the advisor still loads, or thinks about another one. What has not begun by then is asked about as
if it were a graph that had just come, and if a plan for it is worth it, it is a run of its own from
then on, with its own workers, promise and record. Plans that are followed are mended instead
(`control`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from distributed.metrics import monotonic, time

from orchestrator_core.execute.dask.graphs.runs import GraphRun
from orchestrator_core.execute.dask.plans.planning import Planning
from orchestrator_core.execute.dask.steer.alarm import Alarm
from orchestrator_core.execute.dask.steer.live_tasks import LiveTasks
from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.graph.cluster import Cluster, Worker

GATHER = 0.25
"""Seconds after a change of the fleet until it is looked at: workers come in crowds."""

PAUSE = 1.0
"""Seconds after the first question about a run until the next; twice as many after each."""


@dataclass(slots=True)
class Judged:
    """On which workers a run was judged last, none if it never was; and when it may be again."""

    workers: tuple[Worker, ...]
    pause: float = PAUSE
    again: float = -math.inf


class Anew:
    """Looks at the open runs whenever the fleet has changed; called on the event loop."""

    def __init__(
        self,
        roster: Roster,
        tasks: LiveTasks,
        planning: Planning,
        runs: Callable[[], Collection[GraphRun]],
        fault: Callable[[str, Exception], None],
    ) -> None:
        self._roster, self._tasks, self._planning = roster, tasks, planning
        self._runs, self._fault = runs, fault
        self._judged: WeakKeyDictionary[GraphRun, Judged] = WeakKeyDictionary()
        self._alarm = Alarm(self._look)

    def changed(self) -> None:
        """A worker has joined and described itself, or left; or the advisor can be asked."""
        if self._runs():
            self._wake(GATHER)

    def put_off(self, run: GraphRun) -> None:
        """Nobody could be asked about this run, which is under way."""
        self._judged.pop(run, None)
        self._wake(GATHER)

    def cancel(self) -> None:
        """Look no more."""
        self._alarm.cancel()

    def _wake(self, seconds: float) -> None:
        self._alarm.set(monotonic() + seconds)

    def _look(self) -> None:
        try:
            cluster = self._roster.cluster()
            if cluster is not None and not _look_alike(cluster.workers):
                waits = [self._judge(run, cluster) for run in self._runs()]
                if (wait := min(waits, default=math.inf)) < math.inf:
                    self._wake(wait)
        except Exception as error:
            self._fault("anew", error)

    def _judge(self, run: GraphRun, cluster: Cluster) -> float:
        """Ask about the run if there is a point in it; seconds until it is to be tried again."""
        if run.adopted or self._planning.is_senseless(run) is not None:
            return math.inf
        known = () if run.unasked else run.cluster.workers
        judged = self._judged.setdefault(run, Judged(known))
        if judged.workers == cluster.workers:
            return math.inf
        now = monotonic()
        if now < judged.again:
            return judged.again - now
        if not self._planning.can_ask:
            return PAUSE
        left = self._tasks.not_begun(run.open)
        rest = run.rest(left, cluster, time(), self._tasks.stored(left))
        if self._planning.is_senseless(rest) is not None:
            return math.inf
        if not self._planning.plan_rest(run, rest):
            return PAUSE
        judged.workers, judged.again = cluster.workers, now + judged.pause
        judged.pause *= 2
        return math.inf


def _look_alike(workers: Collection[Worker]) -> bool:
    """Do they differ in nothing but their names? Then it does not matter who gets what."""
    return len({replace(worker, name="") for worker in workers}) < 2
