"""What passes until a run's first task starts is a part of its forecast."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator_core import Cluster, Orchestrator, RunRecord, TaskGraph, TaskRecord, Worker
from orchestrator_core.execute.record import PlanRecord
from orchestrator_core.orchestrate.lead import PLANNING, usual_lead
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.store.memory import MemoryStore

CLUSTER = Cluster([Worker("w0", kind="fast"), Worker("w1", kind="slow")])
FOUND = PlanRecord(
    Schedule([]), 5.0, 4.0, "area", "heft", "hit", True, "pays", planning_seconds=0.1
)


def steps(tasks: int) -> TaskGraph:
    builder = TaskGraph.build()
    for i in range(tasks):
        builder.task(f"step-{i}", kind="step")
    return builder.done()


def run_of(
    tasks: int, first: float, plan: PlanRecord | None = None, number: int = 0, status: str = "ok"
) -> RunRecord:
    """Tasks of a second, in turn on both workers, the first `first` seconds after the beginning."""
    records = tuple(
        TaskRecord(f"step-{i}", "step", w.name, w.kind, first + i // 2, first + i // 2 + 1.0)
        for i, w in ((i, CLUSTER.workers[i % 2]) for i in range(tasks))
    )
    return RunRecord(
        run_id=f"{number:032x}",
        flow="steps",
        started_at=float(number),
        seconds=max(record.end for record in records),
        mode="observed",
        reason="",
        graph=steps(tasks),
        cluster=CLUSTER,
        graph_signature="g",
        cluster_signature="c",
        plan=plan,
        tasks=records,
        status=status,
    )


def test_nobody_knows_the_lead_of_a_flow_that_never_ran() -> None:
    assert usual_lead([], 10) == 0.0
    assert usual_lead([replace(run_of(4, 0.5), tasks=())], 10) == 0.0


def test_planning_comes_on_top_of_what_an_observed_run_had() -> None:
    assert usual_lead([run_of(50, 0.5)], 50) == pytest.approx(0.5 + PLANNING)


def test_more_tasks_take_longer_to_submit_but_not_to_plan() -> None:
    """0.6 s of which 0.1 s are planning: 10 ms for each of 50 tasks."""
    assert usual_lead([run_of(50, 0.6, FOUND)], 50) == pytest.approx(0.6)
    assert usual_lead([run_of(50, 0.6, FOUND)], 100) == pytest.approx(1.1)


def test_a_search_for_the_plan_is_not_taken_for_what_finding_one_takes() -> None:
    searched = replace(FOUND, cache="miss", planning_seconds=2.0)
    runs = [run_of(50, 2.5, searched), run_of(50, 0.6, FOUND)]
    assert usual_lead(runs, 50) == pytest.approx(0.6)


def test_runs_beside_others_count_only_where_there_are_no_more() -> None:
    alone = run_of(50, 0.6, FOUND)
    behind = [replace(run_of(50, 18.0, FOUND), others=30.0) for _ in range(2)]
    assert usual_lead([*behind, alone], 50) == pytest.approx(0.6)
    assert usual_lead(behind, 50) == pytest.approx(18.0)


def test_one_run_that_had_to_wait_counts_for_little() -> None:
    runs = [run_of(50, 0.6, FOUND), run_of(50, 40.0, FOUND), run_of(50, 0.6, FOUND)]
    assert usual_lead(runs, 50) == pytest.approx(0.6)


def test_a_forecast_counts_from_the_first_submission() -> None:
    """What a run promises itself does not: its submissions are over when it asks."""
    store = MemoryStore()
    store.add_run(run_of(4, 0.6, FOUND, number=1))
    store.add_run(run_of(4, 9.0, FOUND, number=2, status="failed"))
    orchestrator = Orchestrator(store)
    forecast = orchestrator.forecast(steps(4), CLUSTER, "steps")
    assert forecast.lead == pytest.approx(0.6)
    assert forecast.total == forecast.lead + forecast.expected
    assert orchestrator.forecast(steps(4), CLUSTER, "another").lead == 0.0
    plan = orchestrator.advise(steps(4), CLUSTER, "steps").plan
    assert plan is not None
    assert plan.predicted == pytest.approx(forecast.expected)
    assert plan.schedule.start.min() == 0.0
