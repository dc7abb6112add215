"""Orchestrator: store, learned costs and planners behind one question: what to do with a graph?"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator_core.costs.model import CostModel
from orchestrator_core.errors import InfeasibleInstance, OrchestratorError
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.orchestrate.decider import Decider
from orchestrator_core.orchestrate.experience import Crowd, Experience, crowd_of
from orchestrator_core.orchestrate.forecast import STATED
from orchestrator_core.orchestrate.forecaster import Forecaster
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.orchestrate.loading import Loading
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.orchestrate.question import MIN_GAIN, Question
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.store.base import Store

if TYPE_CHECKING:
    pass

log = logging.getLogger("orchestrator")

RECENT = 5
"""Latest runs that say whether small questions are to be expected."""

MOST_SAID = 20
"""Different wishes that no worker can fulfil of which one is told."""


class Orchestrator(Forecaster):
    """Prices, plans, decides, remembers. Implements `execute.advice.Advisor`."""

    def __init__(
        self,
        store: Store | str | None = None,
        *,
        mode: str = "auto",
        objective: Objective | str = MAKESPAN,
        budget: Budget | None = None,
        min_gain: float = MIN_GAIN,
        planners: tuple[str, ...] | None = None,
        in_memory: bool = False,
        largest: int = 20_000,
        hasty: bool = False,
        brisk: bool = False,
        max_price: float | None = None,
        stated: CostModel = STATED,
    ) -> None:
        """An orchestrator with a memory.

        Args:
            store: a `Store`, or where one is (URL or path); default: the user's own.
            mode: ``auto`` plans what is known; ``observe`` only records; ``off`` does neither.
            objective: what plans minimise where a graph does not ask for its own.
            budget: of one planning; default: 2 % of the time that the graph is expected to take,
                5 s at most.
            min_gain: part of what Dask's own way costs that a plan must save; less is noise.
            planners: names to which planning is limited, as in `plan`.
            in_memory: answer from what `warm_up` and `record` have loaded, never from the
                database, for callers that must not wait (an event loop).
            largest: graphs of more tasks are left to Dask: deciding would take too long.
            hasty: answer with the first good plan, and look for a better one while it is followed
                (`Advice.refine`).
            brisk: while this process has loaded no compiled code, which takes seconds, answer small
                questions about short runs without it.
            max_price: what a run may cost by the workers' prices; None for any price.
            stated: what is believed of tasks that were never seen; default: what the graph says.
        """
        super().__init__(
            Memory(store, in_memory=in_memory), Objective.of(objective), budget, planners, stated
        )
        self.max_price = max_price
        self.mode = mode
        self.min_gain = min_gain
        self.hasty = hasty
        self._experience, self._loading = Experience(), Loading(brisk)
        self._decider = Decider(self, self._memory, self._experience, self._loading, largest, hasty)
        self._impossible: set[str] = set()
        self._asked = self._failed = False
        self.measured: tuple[Cluster, ...] = ()
        """Clusters with the links that runs before `warm_up` found, the latest last."""

    def advise(
        self, graph: TaskGraph, cluster: Cluster, flow: str, objective: str | None = None
    ) -> Advice:
        """What to do with `graph`: follow a plan, or only observe. Never raises."""
        keys = Keys.of(graph, cluster)
        advice = Advice(None, f"mode is {self.mode!r}: nothing is planned")
        if self.mode not in ("observe", "off"):
            self._asked = True
            try:
                target = self.objective if objective is None else Objective.of(objective)
                lessons = self._decider.lessons(flow, keys.graph.digest, cluster)
                asked = (graph, cluster, flow, target, self.max_price, self.min_gain, lessons)
                advice = self._decider.decide(Question(*asked))
                advice = self._setup(graph, cluster, advice)
                advice = _with_caveat(advice, self.caveat(graph, cluster))
            except OrchestratorError as error:
                if isinstance(error, InfeasibleInstance):
                    self._warn(error)
                advice = Advice(None, f"not planned: {error}")
            except Exception as error:
                # The advice itself says so each time.
                level = logging.DEBUG if self._failed else logging.WARNING
                self._failed = True
                log.log(level, "planning failed; the run goes on unplanned", exc_info=True)
                advice = Advice(None, f"not planned: {type(error).__name__}: {error}")
        return replace(
            advice, graph_signature=keys.graph.digest, cluster_signature=keys.cluster.digest
        )

    def _warn(self, error: InfeasibleInstance) -> None:
        """Say once what no worker has; which task asked for it changes from graph to graph."""
        what = str(error).replace(error.task or "", "")
        if what not in self._impossible and len(self._impossible) < MOST_SAID:
            self._impossible.add(what)
            log.warning("left to Dask, which heeds no hints: %s", error)

    def _setup(self, graph: TaskGraph, cluster: Cluster, advice: Advice) -> Advice:
        learned = self._memory.costs(graph.kinds, cluster.workers)
        return replace(advice, setup=learned.setup_seconds(graph.kinds))

    def history(self, flow: str, origin: str = "") -> Iterator[RunRecord]:
        """Earlier runs of the flow that ended well, the newest first, one of each graph. Never
        raises. `origin`: where its code stands, if that is known."""
        return iter(()) if self.mode == "off" else self._memory.history(flow, origin)

    def record(self, run: RunRecord) -> None:
        """Remember a run, in the background. Never raises."""
        self.take(lambda: run, len(run.tasks))

    def take(self, build: Callable[[], RunRecord], tasks: int) -> None:
        """The same for a run of so many tasks whose record is made where it is written, which may
        be in another process. Never raises."""
        if self.mode == "off":
            return
        self._memory.remember(build, tasks, self._experience.note)
        if self._asked:
            self._loading.ahead(tasks, beside=self.hasty)

    def close(self) -> None:
        """Write what is still to be written."""
        self._memory.close()

    def warm_up(self) -> None:
        """Load the past, and if there is one, what planning needs: `advise` is quick then."""
        if self.mode in ("observe", "off"):
            return
        self._asked = True
        largest = self._memory.largest(RECENT)
        if self._loading.may_be_brisk(largest):
            return
        if self._loading.brisk and not self.hasty:
            # It asks the database about each graph. To read dozens of runs before costs a process
            # that runs a flow more than a small flow does, at the same time as its first tasks.
            if largest:
                self._loading.now()
            return
        past = self._memory.refresh()
        if past is None:
            self._loading.is_later = self.hasty
            return
        self.measured = _one_of_each(past.measured)
        for outcome in past.outcomes:
            self._experience.note(outcome)
        self._loading.now()

    @property
    def holdup(self) -> str:
        """For people: why `warm_up`, which is under way, takes minutes; empty where it does not."""
        return self._loading.holdup

    @property
    def is_loading(self) -> bool:
        """Is what planning needs loaded now, which takes seconds? Who asks meanwhile would load it
        beside that, and hold up everybody else of this process."""
        return self._loading.is_under_way


def advisor_for_store(
    store: str | None = None,
    *,
    objective: Objective | str = MAKESPAN,
    min_gain: float = MIN_GAIN,
    max_price: float | None = None,
) -> Orchestrator:
    """The advisor of a Dask scheduler: list planners only, answers from memory.

    It is asked on the scheduler's event loop, where nobody may wait for a database or a solver.
    """
    return Orchestrator(
        store,
        objective=objective,
        budget=Budget(seconds=0.02),
        min_gain=min_gain,
        max_price=max_price,
        in_memory=True,
        hasty=True,
    )


def _with_caveat(advice: Advice, caveat: str) -> Advice:
    if not caveat or advice.plan is None:
        return advice
    reason = f"{advice.reason}; {caveat}"
    return replace(advice, reason=reason, plan=replace(advice.plan, reason=reason), caveat=caveat)


def _one_of_each(clusters: Iterable[Cluster]) -> tuple[Cluster, ...]:
    """Of clusters of the same workers the first; in reverse order."""
    first: dict[Crowd, Cluster] = {}
    for cluster in clusters:
        first.setdefault(crowd_of(cluster), cluster)
    return tuple(reversed(first.values()))
