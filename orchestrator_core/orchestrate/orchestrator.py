"""Orchestrator: store, learned costs and planners behind one question: what to do with a graph?"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import OrchestratorError
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import PlanRecord, RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.orchestrate.forecast import Forecast, price
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.result import PlanResult
from orchestrator_core.store.base import Store

log = logging.getLogger("orchestrator")

PESSIMISTIC = 0.9
"""Quantile of the durations at which a plan must still beat Dask's own policy."""

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
        budget: Budget | None = None,
        min_gain: float = 0.02,
        planners: tuple[str, ...] | None = None,
        in_memory: bool = False,
        largest: int = 20_000,
    ) -> None:
        """An orchestrator with a memory.

        Args:
            store: a `Store`, or where one is (URL or path); default: the user's own.
            mode: ``auto`` plans what is known; ``observe`` only records; ``off`` does neither.
            budget: of one planning; default: 2 % of the time that the graph is expected to take,
                5 s at most.
            min_gain: fraction of Dask's time that a plan must save to be followed; less is noise.
            planners: names to which planning is limited, as in `plan`.
            in_memory: answer from what `warm_up` and `record` have loaded, never from the
                database, for callers that must not wait (an event loop).
            largest: graphs of more tasks are left to Dask: deciding would take too long.
        """
        self.mode = mode
        self.budget = budget
        self.min_gain = min_gain
        self.planners = planners
        self.largest = largest
        self._memory = Memory(store, in_memory=in_memory)

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        """What to do with `graph`: follow a plan, or only observe. Never raises."""
        keys = Keys.of(graph, cluster)
        record, reason = None, f"mode is {self.mode!r}: nothing is planned"
        if self.mode not in ("observe", "off"):
            try:
                record, reason = self._decide(graph, cluster, flow)
            except OrchestratorError as error:
                reason = f"not planned: {error}"
            except Exception as error:
                log.warning("planning failed; the run goes on unplanned", exc_info=True)
                reason = f"not planned: {type(error).__name__}: {error}"
        return Advice(record, reason, keys.graph.digest, keys.cluster.digest)

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
        from orchestrator_core.orchestrate import adopt, expect, schedules  # noqa: F401
        from orchestrator_core.plan.warm import warm_up

        warm_up()

    def forecast(self, graph: TaskGraph, cluster: Cluster, flow: str = "") -> Forecast:
        """Price and plan `graph` without running it; the schedule is stored for the next run.

        Raises:
            InvalidInstance: if a task was never seen. OrchestratorError: if no plan is possible.
        """
        from orchestrator_core.orchestrate.expect import expected_makespans

        instance = self.price(graph, cluster)
        pessimistic = self.price(graph, cluster, PESSIMISTIC)
        result, cache = self.schedule(instance, flow, pessimistic=pessimistic)
        (expected,) = expected_makespans(instance, pessimistic, (result.schedule,))
        return Forecast(instance, pessimistic, result, expected, cache)

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
    ) -> tuple[PlanResult, str]:
        """A schedule for `instance`, and where it is from: ``hit`` (stored) or ``miss`` (made now).

        What is stored is the answer, unless a budget is given: then planning starts from it. With
        `planners` it is left aside. What is made is stored for the next time. With `pessimistic`
        durations, of two orders the one is taken that delays hurt less.

        Raises:
            OrchestratorError: if no plan is possible.
        """
        from orchestrator_core.orchestrate.expect import steadier
        from orchestrator_core.orchestrate.schedules import keep, make, recall

        keys = Keys.of(instance.graph, instance.cluster)
        stored = None if planners else recall(self._memory, instance, keys)
        if stored is not None and budget is None:
            return stored, "hit"
        limits = budget or self.budget or _share(instance)
        result, cache = make(instance, limits, planners or self.planners, stored)
        if pessimistic is not None and cache == "miss":
            result = steadier(instance, pessimistic, result)
        keep(self._memory, instance, result, keys, flow)
        return result, cache

    def _decide(
        self, graph: TaskGraph, cluster: Cluster, flow: str
    ) -> tuple[PlanRecord | None, str]:
        begun = time.perf_counter()
        if graph.n_instances > self.largest:
            return None, f"left to Dask: {graph.n_instances} tasks; {self.largest} are planned"
        stated = not np.isnan(graph.mode_seconds).any()
        if not stated and not self._memory.costs(graph.kinds, cluster.workers).knows(graph):
            return None, FIRST_RUN
        from orchestrator_core.orchestrate.adopt import judge

        forecast = self.forecast(graph, cluster, flow)
        result = forecast.result
        verdict = judge(forecast.instance, forecast.pessimistic, result.schedule, self.min_gain)
        record = PlanRecord(
            schedule=result.schedule,
            predicted=forecast.expected,
            lower_bound=result.lower_bound,
            bound_method=result.bound_method,
            planner=result.planner,
            cache=forecast.cache,
            adopted=verdict.adopt,
            reason=verdict.reason,
            default_predicted=verdict.default_predicted,
            planning_seconds=time.perf_counter() - begun,
        )
        return record, verdict.reason


def _share(instance: Instance) -> Budget:
    """Planning may take a small part of the run, and a few seconds at most."""
    from orchestrator_core.plan.bounds import lower_bound

    return Budget(seconds=min(5.0, PLANNING_SHARE * lower_bound(instance).seconds))


def advisor_for_store(store: str | None = None) -> Orchestrator:
    """The advisor of a Dask scheduler: list planners only, answers from memory.

    It is asked on the scheduler's event loop, where nobody may wait for a database or a solver.
    """
    return Orchestrator(store, budget=Budget(seconds=0.02), in_memory=True, largest=5_000)
