"""Decider: which way to answer a question about a graph: not at all, at once, or at length."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator_core.costs.feasible import check_places
from orchestrator_core.errors import InfeasibleInstance, PlanningFailed
from orchestrator_core.execute.advice import Advice
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.orchestrate.alike import ALIKE, are_alike
from orchestrator_core.orchestrate.changeover import with_changeover
from orchestrator_core.orchestrate.crowding import with_crowding
from orchestrator_core.orchestrate.experience import RUNS, Experience, Lessons
from orchestrator_core.orchestrate.forecast import Forecast, is_known
from orchestrator_core.orchestrate.forecaster import PESSIMISTIC, Forecaster
from orchestrator_core.orchestrate.lateness import least_late, why_late
from orchestrator_core.orchestrate.loading import LOADING, NOT_COMPILED, Loading
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.orchestrate.question import Question
from orchestrator_core.orchestrate.share import PLANNING_SHARE
from orchestrator_core.plan import warm
from orchestrator_core.plan.dates import has_deadlines

if TYPE_CHECKING:
    from orchestrator_core.orchestrate.at_once import AtOnce

FIRST_RUN = "first run: observed, to learn how long its tasks take"

LOADS_FIRST = "not planned yet: what plans is loaded first, once in a process"

CUT_SHORT = (
    "left to Dask: of its last run some results were taken, and the rest was let go of; a plan "
    "that ends sooner as a whole may give the first of them later"
)

MOST_INTERPRETED = 200
"""Tasks of a graph that is planned, and the plan judged, before this machine has compiled what does
so: a second or two, which grow with the square of their number."""


class Decider:
    """Answers questions, for as long as those who ask can wait."""

    def __init__(
        self,
        forecaster: Forecaster,
        memory: Memory,
        experience: Experience,
        loading: Loading,
        largest: int,
        hasty: bool,
    ) -> None:
        """Arguments as of `Orchestrator`.

        Args:
            experience: what runs since the start have taught. loading: of this process.
        """
        self._forecaster, self._memory = forecaster, memory
        self._experience, self._loading = experience, loading
        self._largest, self._hasty = largest, hasty
        self._quick: AtOnce | None = None
        self._put_off = False

    def decide(self, question: Question) -> Advice:
        """What to do with the graph.

        Raises:
            OrchestratorError: if no plan is possible.
        """
        graph, cluster, tasks = question.graph, question.cluster, question.graph.n_instances
        if tasks > self._largest:
            return Advice(None, f"left to Dask: {tasks} tasks; {self._largest} are planned")
        check_places(graph, cluster)
        if not is_known(graph, cluster, self._memory.costs(graph.kinds, cluster.workers)):
            return Advice(None, FIRST_RUN)
        if self._put_off and warm.is_missing(warm.SIMULATION):
            return Advice(None, NOT_COMPILED)
        if self._loading.may_be_brisk(tasks):
            advice = self._first(question)
            if advice is not None and _is_enough(advice):
                return advice
        if tasks > MOST_INTERPRETED and warm.is_missing(warm.SIMULATION):
            # Nor in pieces, which would be asked about next.
            self._put_off = True
            return Advice(None, NOT_COMPILED)
        if self._hasty and question.is_by_time:
            return self._at_once(question)
        if self._loading.comes_first:
            return self._put_off_until_loaded(tasks)
        with warm.not_waiting():
            return self._at_length(question)

    def lessons(self, flow: str, graph_signature: str, cluster: Cluster) -> Lessons:
        """What runs of this graph taught: those that were told of, where nobody may wait for a
        database; else those of the flow that Dask placed."""
        if self._hasty:
            return self._experience.of(graph_signature, cluster)
        return Lessons.of_dask(self._memory.left_to_dask(flow, graph_signature, RUNS), cluster)

    def _first(self, question: Question) -> Advice | None:
        """An answer without compiled code, if there is one."""
        from orchestrator_core.orchestrate.first_answer import first_answer

        return first_answer(question, self._forecaster.prices, self._memory)

    def _at_once(self, question: Question) -> Advice:
        graph, cluster, lessons = question.graph, question.cluster, question.lessons
        instance = self._forecaster.price(graph, cluster)
        if are_alike(instance):
            return Advice(None, ALIKE, instance=instance)
        if lessons.cut:
            return Advice(None, CUT_SHORT, instance=instance)
        if self._loading.comes_first:
            return self._put_off_until_loaded(graph.n_instances)
        from orchestrator_core.orchestrate.at_once import AtOnce

        self._quick = self._quick or AtOnce(self._forecaster.schedule, self._memory)
        changeover, crowding = self._experience.changeover(cluster), lessons.usual_crowding
        pessimistic = self._forecaster.price(graph, cluster, PESSIMISTIC)
        instance, pessimistic = (
            with_crowding(with_changeover(each, changeover), crowding)
            for each in (instance, pessimistic)
        )
        advice = self._quick.advice(instance, pessimistic, question)
        return replace(advice, changeover=changeover, crowding=crowding)

    def _put_off_until_loaded(self, tasks: int) -> Advice:
        """Its tasks would wait for seconds, and for nothing."""
        self._loading.ahead(tasks, beside=True)
        return Advice(None, LOADS_FIRST, put_off=True)

    def _at_length(self, question: Question) -> Advice:
        from orchestrator_core.orchestrate.decision import advice_on

        try:
            forecast, late = self._planned(question), ""
        except (InfeasibleInstance, PlanningFailed) as error:
            if not has_deadlines(question.graph):
                raise
            forecast = self._planned(least_late(question))
            late = why_late(question.graph, error, forecast)
        return advice_on(question, forecast, late, self._forecaster.budget)

    def _planned(self, asked: Question) -> Forecast:
        return self._forecaster.planned(asked.graph, asked.cluster, asked.flow, asked.objective)


def _is_enough(advice: Advice) -> bool:
    """Is what could be found with compiled code less than loading it costs?"""
    quick = advice.plan is None or advice.plan.predicted * PLANNING_SHARE < LOADING
    return quick or warm.is_missing(warm.SIMULATION)
