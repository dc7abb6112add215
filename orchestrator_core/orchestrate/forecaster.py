"""Forecaster: a graph priced with what earlier runs taught, and planned; nothing is decided."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.costs.model import CostModel, FirstKnown
from orchestrator_core.errors import OrchestratorError
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.learn.unseen import unseen
from orchestrator_core.orchestrate.answers import (
    Answer,
    decode_answer,
    encode_answer,
    place_of,
    question_of,
)
from orchestrator_core.orchestrate.forecast import STATED, Forecast, price
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.orchestrate.lead import RUNS, usual_lead
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.orchestrate.share import share_of
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.dates import has_deadlines, softened
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.result import PlanResult

PESSIMISTIC = 0.9
"""Quantile of the durations at which a plan must still beat Dask's own policy."""


IN_A_HURRY, GOOD_ENOUGH = ("heft", "shaken-heft", "quick-lists"), 0.01
"""Who plans where nobody can wait for a search, and the gap from which a search is left out."""


class Forecaster:
    """Prices and plans with a memory.

    Attributes:
        objective: what plans minimise where nothing else is asked for.
        budget: of one planning; None for `share_of` the run. planners: to these it is limited.
        stated: what is believed of tasks that were never seen.
    """

    def __init__(
        self,
        memory: Memory,
        objective: Objective = MAKESPAN,
        budget: Budget | None = None,
        planners: tuple[str, ...] | None = None,
        stated: CostModel = STATED,
    ) -> None:
        self.objective = objective
        self.budget = budget
        self.planners = planners
        self.stated = stated
        self._memory = memory

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
        found = self.planned(graph, cluster, flow, objective)
        return replace(found, lead=self.lead(flow, graph.n_instances))

    def lead(self, flow: str, tasks: int, origin: str = "") -> float:
        """Seconds from the first submission of a run of the flow, of so many tasks, to the start
        of its first task. `origin`: where the flow's code stands, if that is known."""
        return usual_lead(self._memory.latest_runs(flow, RUNS, origin), tasks)

    def planned(
        self, graph: TaskGraph, cluster: Cluster, flow: str, objective: Objective | None
    ) -> Forecast:
        """The forecast without its lead, which is over when a run asks. Raises as `forecast`."""
        from orchestrator_core.orchestrate.expect import expected_makespan

        target = self.objective if objective is None else objective
        instance, pessimistic = self.prices(graph, cluster)
        result, cache = self.schedule(instance, flow, pessimistic=pessimistic, objective=target)
        expected = expected_makespan(instance, pessimistic, result)
        return Forecast(instance, pessimistic, result, expected, cache, target)

    def prices(self, graph: TaskGraph, cluster: Cluster) -> tuple[Instance, Instance]:
        """`graph` at expected durations, and at durations that are rarely exceeded."""
        # A duration that runs long may miss a deadline: that is what the forecast is to show.
        pessimistic = self.price(softened(graph), cluster, PESSIMISTIC)
        return self.price(graph, cluster), pessimistic

    def price(
        self,
        graph: TaskGraph,
        cluster: Cluster,
        quantile: float = 0.5,
        known: Cluster | None = None,
    ) -> Instance:
        """`graph` priced with what earlier runs taught, else with what it states itself.

        In the instance, workers that were seen to differ from their kind have a finer kind.
        `known` is a cluster that it ran on: kinds of workers that never ran anything are judged
        by their speed beside those that did.

        Raises:
            InvalidInstance: if a task was never seen and states no time.
        """
        ran_on = () if known is None else known.workers
        learned = self._memory.costs(graph.kinds, (*ran_on, *cluster.workers))
        return price(graph, learned.distinguish(cluster), learned, quantile, self.stated)

    def known_answer(self, instance: Instance, pessimistic: Instance | None) -> Answer | None:
        """What `keep_answer` has kept of the same question, if the schedule that is stored is
        still the same one and keeps every rule. Loads no planner."""
        begun = time.perf_counter()
        question = question_of(instance, pessimistic, str(self.objective))
        text = self._memory.text(place_of(question))
        keys = Keys.of(instance.graph, instance.cluster)
        if text is None or question.encode() not in text:
            return None
        stored = self._memory.find(keys.priced(instance, self.objective))
        try:
            answer = None if stored is None else decode_answer(text, question, stored)
            if answer is not None:
                check_schedule(instance, answer.result.schedule)
        except OrchestratorError:
            return None
        if answer is None:
            return None
        seconds = time.perf_counter() - begun
        return replace(answer, result=replace(answer.result, seconds=seconds))

    def keep_answer(self, instance: Instance, pessimistic: Instance | None, answer: Answer) -> None:
        """Keep what the stored schedule that `schedule` has just given came to."""
        question = question_of(instance, pessimistic, str(self.objective))
        stored = self._memory.found
        if stored is not None:
            self._memory.keep_text(place_of(question), encode_answer(answer, question, stored))

    def _is_answer(self, stored: PlanResult) -> bool:
        """Need it not be bettered? Who has a budget has decided how good is good enough."""
        in_a_hurry = stored.planner in IN_A_HURRY and stored.gap > GOOD_ENOUGH
        return self.budget is not None or not in_a_hurry

    def unknown_kinds(self, graph: TaskGraph, cluster: Cluster) -> tuple[str, ...]:
        """Kinds of tasks whose time was neither learned nor is stated by the graph."""
        learned = self._memory.costs(graph.kinds, cluster.workers)
        seconds = FirstKnown((learned, STATED)).compute_seconds(graph, cluster)
        unknown = graph.kind_of[graph.mode_task[np.isnan(seconds).any(axis=1)]]
        return tuple(graph.kinds[each] for each in np.unique(unknown))

    def caveat(self, graph: TaskGraph, cluster: Cluster) -> str:
        """One sentence for people on what no earlier run of these tasks was like; mostly none."""
        if not any(graph.feature_sets):
            return ""
        return unseen(self._memory.costs(graph.kinds, cluster.workers).kinds, graph)

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
        """A schedule for `instance`, and where it is from: ``hit`` (stored), ``near`` (begun from
        one that was stored for other costs) or ``miss`` (made now).

        What is stored is the answer, unless a budget is given, or it was made in a hurry by those
        who had none: then planning starts from it. With `planners` it is left aside. What is made
        is stored for the next time. With `pessimistic` durations, of two orders the one is taken
        that delays hurt less; a makespan alone has such.

        Raises:
            OrchestratorError: if no plan is possible.
        """
        from orchestrator_core.orchestrate.expect import steadier
        from orchestrator_core.orchestrate.schedules import Start, keep, make, recall, recall_near

        target = self.objective if objective is None else objective
        keys = Keys.of(instance.graph, instance.cluster)
        hurry = None if self.budget is None else self.budget.seconds
        stored = None if planners else recall(self._memory, instance, keys, target, hurry)
        if stored is not None and budget is None and self._is_answer(stored):
            return stored, "hit"
        limits = budget or self.budget or share_of(instance)
        if stored is not None:
            start: Start | None = Start(stored.schedule, stored.planner, is_near=False)
        else:
            start = None if planners else recall_near(self._memory, instance, keys, target)
        result, cache = make(instance, limits, planners or self.planners, start, target)
        by_time = target == MAKESPAN and not has_deadlines(instance.graph)
        if pessimistic is not None and cache != "hit" and by_time:
            result = steadier(instance, pessimistic, result)
        keep(self._memory, instance, result, keys, flow)
        return result, cache
