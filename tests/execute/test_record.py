"""What a run ended without, what others had meanwhile, and how good its plan was."""

from __future__ import annotations

import math
from typing import Any

import pytest

from orchestrator_core.errors import InvalidFormat
from orchestrator_core.execute.record import LEFT, PlanRecord, RunRecord
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.store.records import a_record, a_run


def run_of(**of: Any) -> RunRecord:
    """load, then fit and audit, then the audit's end."""
    graph = TaskGraph.build()
    graph.task("load", output_bytes=5.0)
    for name, after in (("fit", "load"), ("audit", "load"), ("end", "audit")):
        graph.task(name, after=[after])
    return a_run(graph=graph.done(), **of)


def test_what_was_dropped_and_what_still_ran_is_left() -> None:
    run = run_of(dropped=("end",), tasks=(a_record("load"), a_record("audit", status=LEFT)))
    assert run.left == {"end", "audit"}
    assert run.needed.names == ("load", "fit")
    assert [(e.producer, e.consumer, e.nbytes) for e in run.needed.edges()] == [
        ("load", "fit", 5.0)
    ]
    assert RunRecord.from_json(run.to_json()) == run


@pytest.mark.parametrize("dropped", [(), ("load", "fit", "audit", "end")])
def test_of_a_run_that_waited_for_all_or_for_nothing_nothing_is_left(
    dropped: tuple[str, ...],
) -> None:
    run = run_of(dropped=dropped, tasks=())
    assert run.left == frozenset()
    assert run.needed is run.graph


def test_a_task_that_is_not_there_cannot_be_dropped() -> None:
    text = run_of(dropped=("end",)).to_json().replace(b'"dropped":[3]', b'"dropped":[4]')
    with pytest.raises(InvalidFormat, match=r"it dropped tasks \[4\]; the graph has 4"):
        RunRecord.from_json(text)


def test_what_others_had_is_told_where_it_matters() -> None:
    run = run_of(seconds=10.0, notes=())
    threads = sum(worker.threads for worker in run.cluster.workers)
    shared = run.beside(4.0 * threads)
    assert shared.share_of_others == pytest.approx(0.4)
    assert shared.notes == (
        "tasks that are not its own had 40% of the workers' time; "
        "forecasts are for one run at a time",
    )
    assert run.beside(0.4 * threads).notes == ()
    assert run.beside(1e9).share_of_others == 1.0
    assert run.beside(1e9).error is None
    assert RunRecord.from_json(shared.to_json()) == shared
    assert b"others" not in run.to_json()


@pytest.mark.parametrize(
    ("end", "bound", "gap"),
    [(12.0, 10.0, 0.2), (10.0, 10.0, 0.0), (10.0, 0.0, None), (10.0, math.nan, None)],
)
def test_the_gap_is_that_of_the_plan_on_paper(end: float, bound: float, gap: float | None) -> None:
    """Earlier runs took half of what was planned: the plan is no closer to the best for that."""
    paper = Schedule([Assignment("a", "w", 0.0, end)])
    plan = PlanRecord(paper, end / 2, bound, "area", "heft", "hit", True, "pays")
    assert plan.gap == (None if gap is None else pytest.approx(gap))
