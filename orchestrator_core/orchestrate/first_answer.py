"""The first answer of a process that has loaded no compiled code, which would take it seconds.

Small questions are answered by interpreted code, in tenths of a second: with the stored schedule at
today's prices or the best of a short search, judged by a few simulated runs. What a long search
would find beside that is less than its loading costs.
"""

from __future__ import annotations

from collections.abc import Callable

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance, PlanningFailed
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.measures.measures import NONE
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.orchestrate.adopt import Verdict, judge
from orchestrator_core.orchestrate.decision import advice_on, advised
from orchestrator_core.orchestrate.expect import MENDED, expected_makespan
from orchestrator_core.orchestrate.experience import Lessons
from orchestrator_core.orchestrate.first_schedule import first_schedule
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.lateness import least_late, why_late
from orchestrator_core.orchestrate.loading import LOADING
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.orchestrate.price_limit import price_of
from orchestrator_core.orchestrate.question import Question
from orchestrator_core.plan.bounds import Bound
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.dates import has_deadlines
from orchestrator_core.plan.engine.compiled import interpreting
from orchestrator_core.plan.objectives.judge import keeps
from orchestrator_core.plan.schedule import Schedule

CHANCES = 2
"""Runs of Dask's own policy that are simulated in each race."""

WITHIN, MOST_WITHIN = Budget(seconds=0.3), 300
"""Of a front of time against money, beside a second for the leases that a limit buys of so many
tasks."""

Prices = Callable[[TaskGraph, Cluster], tuple[Instance, Instance]]
"""A graph at expected durations, and at durations that are rarely exceeded."""


def first_answer(question: Question, prices: Prices, memory: Memory) -> Advice | None:
    """What to do with a small graph.

    Args:
        prices: of graphs. memory: where schedules are stored, this one too.

    Returns:
        None where what is found at once is late, or costs too much, and a search may better that
        by more than the seconds for which no task would start; and where bytes count, which takes
        longer.

    Raises:
        OrchestratorError: if no plan is possible.
    """
    if question.is_by_time:
        return _soonest(question, prices, memory)
    return None if "memory" in question.objective.criteria else _otherwise(question, prices, memory)


def _soonest(question: Question, prices: Prices, memory: Memory) -> Advice:
    with interpreting():
        instance, pessimistic = prices(question.graph, question.cluster)
        result, cache = first_schedule(instance, memory, question.flow)
        schedule, least = result.schedule, result.lower_bound
        asked = (question.min_gain, question.lessons, least)
        verdict = _judge(instance, pessimistic, schedule, *asked)
        expected = max(verdict.drawn.planned, least)
        forecast = Forecast(instance, pessimistic, result, expected, cache)
        return advised(question, forecast, verdict, Bound(least, result.bound_method))


def _otherwise(question: Question, prices: Prices, memory: Memory) -> Advice | None:
    """For another objective, deadlines or a limit on the price."""
    with interpreting():
        try:
            forecast, late = _forecast(question, prices, memory), ""
        except (InfeasibleInstance, PlanningFailed) as error:
            if not has_deadlines(question.graph):
                return None
            forecast = _forecast(least_late(question), prices, memory)
            late = why_late(question.graph, error, forecast)
        instance, result, limit = forecast.instance, forecast.result, question.max_price
        is_late = forecast.objective.primary == "tardiness"
        if is_late and result.value - result.lower_bound > LOADING:
            return None
        is_large = instance.graph.n_instances > MOST_WITHIN
        if is_large and not _keeps(instance, result.schedule, limit):
            return None
        advice = advice_on(question, forecast, late, budget=WITHIN, by_time=_judge)
        planned = result.schedule if advice.plan is None else advice.plan.schedule
        return advice if _keeps(instance, planned, limit) else None


def _forecast(question: Question, prices: Prices, memory: Memory) -> Forecast:
    """Raises as `first_schedule`."""
    objective = question.objective
    instance, pessimistic = prices(question.graph, question.cluster)
    result, cache = first_schedule(instance, memory, question.flow, objective)
    expected = expected_makespan(instance, pessimistic, result)
    return Forecast(instance, pessimistic, result, expected, cache, objective)


def _keeps(instance: Instance, schedule: Schedule, limit: float | None) -> bool:
    return limit is None or keeps(price_of(instance, schedule), limit)


def _judge(
    expected: Instance,
    pessimistic: Instance,
    schedule: Schedule,
    min_gain: float,
    lessons: Lessons,
    bound: float,
    mends: bool = True,
) -> Verdict:
    """As `judge` does it, by fewer simulated runs, and with no measures beside placing."""
    mends = mends and expected.graph.n_instances <= MENDED
    return judge(
        expected, pessimistic, schedule, min_gain, NONE, lessons, CHANCES, mends=mends, bound=bound
    )
