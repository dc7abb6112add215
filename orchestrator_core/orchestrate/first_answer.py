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
from orchestrator_core.orchestrate.adopt import Verdict, judge
from orchestrator_core.orchestrate.decision import advice_on, advice_within, advised
from orchestrator_core.orchestrate.expect import MENDED, expected_makespan
from orchestrator_core.orchestrate.experience import Lessons
from orchestrator_core.orchestrate.first_schedule import first_schedule
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.orchestrate.price_limit import price_of
from orchestrator_core.plan.bounds import Bound
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.compiled import interpreting
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives.judge import keeps
from orchestrator_core.plan.schedule import Schedule

MOST = 600
"""Tasks of a small question: interpreted, an answer takes a few tenths of a second."""

CHANCES = 2
"""Runs of Dask's own policy that are simulated in each race."""

WITHIN, MOST_WITHIN = Budget(seconds=0.3), 300
"""Of a front of time against money, beside a second for the leases that a limit buys of so many
tasks."""

Prices = Callable[[], tuple[Instance, Instance]]
"""The question at expected durations, and at durations that are rarely exceeded."""


def first_answer(
    prices: Prices,
    memory: Memory,
    flow: str,
    min_gain: float,
    begun: float,
    lessons: Lessons,
) -> Advice:
    """What to do with a small graph, for the least makespan.

    Args:
        prices: of the graph.
        memory: where schedules are stored, this one too.
        min_gain: part of Dask's time that it must save.
        begun: `time.perf_counter` when planning began.
        lessons: what Dask alone really took in earlier runs.

    Raises:
        OrchestratorError: if no plan is possible.
    """
    with interpreting():
        instance, pessimistic = prices()
        result, cache = first_schedule(instance, memory, flow)
        schedule, least = result.schedule, result.lower_bound
        verdict = _judge(instance, pessimistic, schedule, min_gain, lessons, least)
        expected = max(verdict.drawn.planned, least)
        forecast = Forecast(instance, pessimistic, result, expected, cache)
        bound = Bound(least, result.bound_method)
        return advised(forecast, verdict, bound, "", begun)


def first_answer_to(
    objective: Objective,
    max_price: float | None,
    prices: Prices,
    memory: Memory,
    flow: str,
    min_gain: float,
    begun: float,
) -> Advice | None:
    """The same for another objective, deadlines or a limit on the price; None where dates or limits
    are not kept by what is found at once, and may be by what is found in a while. Bytes are not
    counted at once.

    Args:
        max_price: None for any price. Others as of `first_answer`.
    """
    if "memory" in objective.criteria:
        return None
    with interpreting():
        try:
            instance, pessimistic = prices()
            result, cache = first_schedule(instance, memory, flow, objective)
        except (InfeasibleInstance, PlanningFailed):
            return None
        if objective.primary == "tardiness" and result.value > 0:
            return None
        expected = expected_makespan(instance, pessimistic, result)
        forecast = Forecast(instance, pessimistic, result, expected, cache, objective)
        asked = (forecast, min_gain, "", begun)
        if max_price is None:
            return advice_on(*asked, by_time=_judge)
        is_large = instance.graph.n_instances > MOST_WITHIN
        if is_large and not keeps(price_of(instance, result.schedule), max_price):
            return None
        advice = advice_within(max_price, WITHIN, *asked, by_time=_judge)
        return advice if _keeps(advice, max_price) else None


def _keeps(advice: Advice, max_price: float) -> bool:
    if advice.instance is None or advice.plan is None:
        return False
    return keeps(price_of(advice.instance, advice.plan.schedule), max_price)


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
