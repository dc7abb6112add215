"""Orchestrator: store, learned costs and planners behind one question: what to do with a graph?"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance, OrchestratorError, PlanningFailed
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.orchestrate.alike import ALIKE, are_alike
from orchestrator_core.orchestrate.dates import has_deadlines, lateness_first, softened
from orchestrator_core.orchestrate.forecast import Forecast, is_known, price
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.result import PlanResult
from orchestrator_core.store.base import ScheduleKey, Store

if TYPE_CHECKING:
    from orchestrator_core.orchestrate.refinements import Refinements

log = logging.getLogger("orchestrator")

PESSIMISTIC = 0.9
"""Quantile of the durations at which a plan must still beat Dask's own policy."""

MIN_GAIN = 0.05
"""Part of what Dask's own way costs that a plan must save."""

PLANNING_SHARE = 0.02
"""Planning may take this fraction of the time that the graph is expected to take."""

FIRST_RUN = "first run: observed, to learn how long its tasks take"


class Orchestrator:
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
        """
        self.mode = mode
        self.objective = Objective.of(objective)
        self.budget = budget
        self.min_gain = min_gain
        self.planners = planners
        self.largest = largest
        self.hasty = hasty
        self._memory = Memory(store, in_memory=in_memory)
        self._refinements: Refinements | None = None

    def advise(
        self, graph: TaskGraph, cluster: Cluster, flow: str, objective: str | None = None
    ) -> Advice:
        """What to do with `graph`: follow a plan, or only observe. Never raises."""
        keys = Keys.of(graph, cluster)
        advice = Advice(None, f"mode is {self.mode!r}: nothing is planned")
        if self.mode not in ("observe", "off"):
            try:
                target = self.objective if objective is None else Objective.of(objective)
                advice = self._decide(graph, cluster, flow, target)
            except OrchestratorError as error:
                advice = Advice(None, f"not planned: {error}")
            except Exception as error:
                log.warning("planning failed; the run goes on unplanned", exc_info=True)
                advice = Advice(None, f"not planned: {type(error).__name__}: {error}")
        return replace(
            advice, graph_signature=keys.graph.digest, cluster_signature=keys.cluster.digest
        )

    def record(self, run: RunRecord) -> None:
        """Remember a run, in the background. Never raises."""
        if self.mode != "off":
            self._memory.remember(run)

    def close(self) -> None:
        """Write what is still to be written."""
        self._memory.close()

    def warm_up(self) -> None:
        """Load the past, and if there is one, what planning needs: `advise` is quick then."""
        if self.mode in ("observe", "off") or not self._memory.refresh():
            return
        from orchestrator_core.orchestrate import at_once, decision, expect, schedules  # noqa: F401
        from orchestrator_core.plan.warm import warm_up

        warm_up()

    def forecast(
        self,
        graph: TaskGraph,
        cluster: Cluster,
        flow: str = "",
        objective: Objective | None = None,
    ) -> Forecast:
        """Price and plan `graph` without running it; the schedule is stored for the next run.

        Raises:
            InvalidInstance: if a task was never seen. OrchestratorError: if no plan is possible.
        """
        from orchestrator_core.orchestrate.expect import expected_makespans

        target = self.objective if objective is None else objective
        instance = self.price(graph, cluster)
        # A duration that runs long may miss a deadline: that is what the forecast is to show.
        pessimistic = self.price(softened(graph), cluster, PESSIMISTIC)
        result, cache = self.schedule(instance, flow, pessimistic=pessimistic, objective=target)
        (expected,) = expected_makespans(instance, pessimistic, (result.schedule,))
        return Forecast(instance, pessimistic, result, expected, cache, target)

    def price(
        self,
        graph: TaskGraph,
        cluster: Cluster,
        quantile: float = 0.5,
        known: Cluster | None = None,
    ) -> Instance:
        """`graph` priced with what earlier runs taught, else with what it states itself.

        `known` is a cluster that it ran on: kinds of workers that never ran anything are judged
        by their speed beside those that did.

        Raises:
            InvalidInstance: if a task was never seen and states no time.
        """
        ran_on = () if known is None else known.workers
        learned = self._memory.costs(graph.kinds, (*ran_on, *cluster.workers))
        return price(graph, cluster, learned, quantile)

    def schedule(
        self,
        instance: Instance,
        flow: str = "",
        *,
        budget: Budget | None = None,
        planners: Sequence[str] | None = None,
        pessimistic: Instance | None = None,
        objective: Objective | None = None,
    ) -> tuple[PlanResult, str]:
        """A schedule for `instance`, and where it is from: ``hit`` (stored) or ``miss`` (made now).

        What is stored is the answer, unless a budget is given: then planning starts from it. With
        `planners` it is left aside. What is made is stored for the next time. With `pessimistic`
        durations, of two orders the one is taken that delays hurt less; a makespan alone has such.

        Raises:
            OrchestratorError: if no plan is possible.
        """
        from orchestrator_core.orchestrate.expect import steadier
        from orchestrator_core.orchestrate.schedules import keep, make, recall

        target = self.objective if objective is None else objective
        keys = Keys.of(instance.graph, instance.cluster)
        stored = None if planners else recall(self._memory, instance, keys, target)
        if stored is not None and budget is None:
            return stored, "hit"
        limits = budget or self.budget or _share(instance)
        result, cache = make(instance, limits, planners or self.planners, stored, target)
        by_time = target == MAKESPAN and not has_deadlines(instance.graph)
        if pessimistic is not None and cache == "miss" and by_time:
            result = steadier(instance, pessimistic, result)
        keep(self._memory, instance, result, keys, flow)
        return result, cache

    def _decide(
        self, graph: TaskGraph, cluster: Cluster, flow: str, objective: Objective
    ) -> Advice:
        begun = time.perf_counter()
        if graph.n_instances > self.largest:
            n = graph.n_instances
            return Advice(None, f"left to Dask: {n} tasks; {self.largest} are planned")
        if not is_known(graph, cluster, self._memory.costs(graph.kinds, cluster.workers)):
            return Advice(None, FIRST_RUN)
        if self.hasty and objective == MAKESPAN and not has_deadlines(graph):
            return self._at_once(graph, cluster, flow, begun)
        from orchestrator_core.orchestrate.decision import advice_on

        try:
            forecast, late = self.forecast(graph, cluster, flow, objective), ""
        except (InfeasibleInstance, PlanningFailed) as error:
            if not has_deadlines(graph):
                raise
            least = lateness_first(objective)
            forecast = self.forecast(softened(graph), cluster, flow, least)
            late = f"deadlines cannot be met ({error}), so this is for least lateness; "
        return advice_on(forecast, self.min_gain, late, begun)

    def _at_once(self, graph: TaskGraph, cluster: Cluster, flow: str, begun: float) -> Advice:
        instance = self.price(graph, cluster)
        if are_alike(instance):
            return Advice(None, ALIKE)
        from orchestrator_core.orchestrate.at_once import answer, unrefined
        from orchestrator_core.orchestrate.refinements import Refinements

        pessimistic = self.price(graph, cluster, PESSIMISTIC)
        keys = Keys.of(instance.graph, instance.cluster)
        key = keys.priced(instance, MAKESPAN)
        self._refinements = self._refinements or Refinements()
        known = self._refinements.find(key, instance)
        if known is not None:
            return answer(instance, pessimistic, known, "hit", self.min_gain, begun)
        result, cache = self.schedule(instance, flow, objective=MAKESPAN)
        advice = answer(instance, pessimistic, unrefined(result), cache, self.min_gain, begun)
        refine = partial(self._refine, instance, pessimistic, key, flow)
        return replace(advice, refine=refine)

    def _refine(
        self, instance: Instance, pessimistic: Instance, key: ScheduleKey, flow: str
    ) -> Advice:
        """Better advice, found while the first is followed; remembered for the next time."""
        from orchestrator_core.orchestrate.at_once import answer, refined

        begun = time.perf_counter()
        limits = _share(instance)
        found = refined(
            instance,
            pessimistic,
            lambda: self.schedule(instance, flow, budget=limits, objective=MAKESPAN)[0],
        )
        if self._refinements is not None:
            self._refinements.keep(key, found)
        return answer(instance, pessimistic, found, "miss", self.min_gain, begun)


def _share(instance: Instance) -> Budget:
    """Planning may take a small part of the run, and a few seconds at most."""
    from orchestrator_core.plan.bounds import lower_bound

    return Budget(seconds=min(5.0, PLANNING_SHARE * lower_bound(instance).seconds))


def advisor_for_store(
    store: str | None = None,
    *,
    objective: Objective | str = MAKESPAN,
    min_gain: float = MIN_GAIN,
) -> Orchestrator:
    """The advisor of a Dask scheduler: list planners only, answers from memory.

    It is asked on the scheduler's event loop, where nobody may wait for a database or a solver.
    """
    return Orchestrator(
        store,
        objective=objective,
        budget=Budget(seconds=0.02),
        min_gain=min_gain,
        in_memory=True,
        largest=5_000,
        hasty=True,
    )
