"""What plans are made for: one objective, and a deadline that counts from the start of the run."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from prefect import flow, tags, task

from orchestrator_core.execute.advice import Advice, Recalls
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_prefect import OptimizedTaskRunner
from orchestrator_prefect.settings.aims import STEPS, AimingAdvisor, Aims

from ..conftest import Advisor

CLUSTER = Cluster([Worker("w")])
LOG = logging.getLogger("test-aims")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Asked(Advisor):
    """Notes what it is asked for; plans nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.objectives: list[str | None] = []

    def advise(
        self, graph: TaskGraph, cluster: Cluster, flow: str, objective: str | None = None
    ) -> Advice:
        self.asked.append(graph)
        self.objectives.append(objective)
        return Advice(None, "noted")


def graph(deadline: float | None = None) -> TaskGraph:
    builder = TaskGraph.build()
    builder.task("a-0", kind="a")
    builder.task("b-0", kind="b", deadline=deadline)
    return builder.done()


def test_all_tasks_have_to_end_before_the_flow_has_to() -> None:
    clock, advisor = Clock(), Asked()
    aiming = AimingAdvisor(advisor, Aims("makespan", 64.0, LOG, clock))
    for passed in (0.0, 0.9, 1.1, 40.0, 90.0):
        clock.now = 100.0 + passed
        aiming.advise(graph(deadline=30.0), CLUSTER, "flow")
    # A step is a second: what differs by less is asked for in the same words.
    assert STEPS == 64
    dates = [each.deadline.tolist() for each in advisor.asked]
    assert dates == [[64.0, 30.0], [63.0, 30.0], [62.0, 30.0], [24.0, 24.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("status", "seconds", "said"),
    [
        ("ok", 64.0, "noted"),
        ("ok", 66.5, "noted; the deadline of 64.00 s was missed by 2.50 s"),
        ("failed", 66.5, "noted"),
    ],
)
def test_a_run_that_missed_its_deadline_says_so(
    caplog: pytest.LogCaptureFixture, status: str, seconds: float, said: str
) -> None:
    """Its last task did; the flow is over later, and recorded still later."""
    clock, advisor = Clock(), Asked()
    aiming = AimingAdvisor(advisor, Aims("makespan", 64.0, LOG, clock))
    clock.now = 200.0
    aiming.record(replace(ended(), status=status, seconds=seconds))
    assert [run.reason for run in advisor.runs] == [said]
    logged = [record.getMessage() for record in caplog.records]
    assert logged == [text for text in said.split("; ") if text != "noted"]


def ended() -> RunRecord:
    return RunRecord("a", "flow", 0.0, 1.0, "observed", "noted", graph(), CLUSTER, "", "")


def test_without_a_deadline_the_graph_stays_what_it_is() -> None:
    advisor, asked = Asked(), graph()
    AimingAdvisor(advisor, Aims("makespan", None, LOG)).advise(asked, CLUSTER, "flow")
    assert advisor.asked == [asked]
    assert np.isinf(advisor.asked[0].deadline).all()


def test_the_objective_of_a_task_is_nearer_than_that_of_the_flow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    aims = Aims("price", None, LOG)
    advisor = Asked()
    aiming = AimingAdvisor(advisor, aims)
    for said in (None, "memory", "memory", "tardiness", "memory"):
        aims.heed(said)
        aiming.advise(graph(), CLUSTER, "flow")
    aiming.advise(graph(), CLUSTER, "flow", objective="busy-price")
    assert advisor.objectives == ["price", "memory", "memory", "price", "price", "busy-price"]
    (line,) = (record.getMessage() for record in caplog.records)
    assert "several objectives, ['memory', 'tardiness']: all are ignored" in line


def test_the_makespan_need_not_be_asked_for() -> None:
    advisor = Asked()
    AimingAdvisor(advisor, Aims("makespan", None, LOG)).advise(graph(), CLUSTER, "flow")
    assert advisor.objectives == [None]


def test_in_everything_else_it_is_the_advisor_that_it_was_made_of() -> None:
    class Historian(Asked):
        def history(self, flow: str, origin: str = "") -> Any:
            return iter([flow, origin])

    advisor = Asked()
    aiming = AimingAdvisor(advisor, Aims("makespan", None, LOG))
    aiming.warm_up()
    aiming.record("a run")  # type: ignore[arg-type]
    aiming.close()
    assert (advisor.runs, advisor.closed) == (["a run"], True)
    assert isinstance(aiming, Recalls)
    assert list(aiming.history("f")) == []
    told = AimingAdvisor(Historian(), Aims("makespan", None, LOG))
    assert list(told.history("f", "jobs/etl.py:f")) == ["f", "jobs/etl.py:f"]


def test_a_run_asks_for_what_its_flow_and_its_tasks_want(cluster: Any) -> None:
    @task
    def one() -> int:
        return 1

    def body() -> int:
        with tags("orchestrator:objective=tardiness,price"):
            return one.submit().result()

    advisor = Asked()
    runner = OptimizedTaskRunner(
        cluster=cluster, advisor=advisor, report=False, deadline="10min", objective="price"
    )
    assert flow(task_runner=runner)(body)() == 1
    assert advisor.objectives == ["tardiness,price"]
    (asked,) = advisor.asked
    assert 500 < asked.deadline[0] <= 600
    (run,) = advisor.runs
    assert np.isinf(run.graph.deadline).all(), "the record is of the work, whenever it had to end"
