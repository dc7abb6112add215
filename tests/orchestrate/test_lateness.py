"""What people are told where no plan meets all deadlines."""

from __future__ import annotations

from orchestrator_core import Cluster, Orchestrator, TaskGraph, Worker, plan
from orchestrator_core.errors import PlanningFailed
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.lateness import least_late, why_late
from orchestrator_core.orchestrate.question import Question
from orchestrator_core.plan.budget import Budget
from orchestrator_core.store.memory import MemoryStore


def test_the_latest_task_is_named_where_nothing_is_proven() -> None:
    """One worker: the first deadline may be met, or the second; the third task has none."""
    builder = TaskGraph.build()
    for name, seconds, deadline in (("a", 1.0, 1.5), ("b", 2.0, 2.5), ("c", 1.0, None)):
        builder.task(name, seconds=seconds, deadline=deadline)
    question = Question(builder.done(), Cluster([Worker("one")]))
    asked = least_late(question)
    assert str(asked.objective) == "tardiness,makespan"
    instance = Orchestrator(MemoryStore()).price(asked.graph, asked.cluster)
    result = plan(instance, budget=Budget(iterations=5), objective=asked.objective)
    forecast = Forecast(instance, instance, result, result.makespan, "miss", asked.objective)
    said = why_late(question.graph, PlanningFailed("heft: no"), forecast)
    cause = "no plan was found that meets all deadlines ('b' ends 0.50 s after its own)"
    assert said == f"{cause}, so this is for least lateness; "
