"""Plans for money, dates and memory are mended by what they are for; values worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.live import Correction, Course, Execution, Sight
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.schedule import Assignment, Schedule

DEAR, CHEAP, OTHER = (
    Worker("dear", kind="dear", price=36_000.0),
    Worker("cheap", kind="cheap", price=3_600.0),
    Worker("other", kind="cheap", price=3_600.0),
)


def course(workers: list[Worker], rows: list[Assignment], objective: str, **columns: Any) -> Course:
    """Independent tasks of a second, each of its own kind, so that one says nothing of others."""
    names = [run.task for run in rows]
    graph = TaskGraph.from_columns(names, kinds=names, seconds=np.ones(len(rows)), **columns)
    instance = Instance.price(graph, Cluster.from_matrices(workers))
    return Course(instance, Schedule(rows), objective=Objective.of(objective))


def in_a_row(number: int, worker: str) -> list[Assignment]:
    return [Assignment(f"t{i}", worker, float(i), i + 1.0) for i in range(number)]


def slow(*workers: Worker, on: str, sent: int) -> Sight:
    """The first task took 4 s instead of one; the others were sent to the same worker."""
    return Sight(
        now=4.0,
        cluster=Cluster.from_matrices(workers),
        finished={"t0": Execution(on, 0.0, 4.0)},
        sent={f"t{i}": (on, 0.0) for i in range(1, sent)},
    )


def where(correction: Correction) -> dict[str, str]:
    return {run.task: run.worker for run in correction.schedule.assignments}


def test_a_late_run_is_not_saved_with_dear_workers() -> None:
    """All on the dear worker would end sooner, for ten times the price of each second."""
    late = slow(DEAR, CHEAP, on="cheap", sent=6)
    by_time = course([DEAR, CHEAP], in_a_row(6, "cheap"), "makespan").correct(late)
    assert by_time.pays
    assert "dear" in where(by_time).values()
    by_price = course([DEAR, CHEAP], in_a_row(6, "cheap"), "price").correct(late)
    assert not by_price.pays
    assert set(where(by_price).values()) == {"cheap"}


def test_tasks_move_to_a_worker_of_the_same_price() -> None:
    """A slow worker is paid for until its last task ends; another one is as cheap and quicker."""
    late = slow(DEAR, CHEAP, OTHER, on="cheap", sent=8)
    found = course([DEAR, CHEAP, OTHER], in_a_row(8, "cheap"), "price").correct(late)
    assert found.pays
    assert set(where(found).values()) == {"cheap", "other"}
    assert "so that the price is" in found.reason


def test_a_lost_worker_is_replaced_by_the_cheapest() -> None:
    plan = in_a_row(4, "other")
    sight = Sight(
        now=1.0,
        cluster=Cluster.from_matrices([DEAR, CHEAP]),
        finished={"t0": Execution("other", 0.0, 1.0)},
    )
    mended = course([DEAR, CHEAP, OTHER], plan, "price").correct(sight)
    assert mended.pays
    assert {worker for task, worker in where(mended).items() if task != "t0"} == {"cheap"}


@pytest.mark.parametrize("dates", ["deadline", "due"])
def test_what_is_due_moves_where_it_is_late_by_least(dates: str) -> None:
    """t3 is due at 5 s, when it ends if it is next on the other worker; where it is, it is late."""
    due = [np.inf, np.inf, np.inf, 5.0]
    objective = "makespan" if dates == "deadline" else "tardiness,makespan"
    plan = in_a_row(4, "cheap")
    made = course([CHEAP, OTHER], plan, objective, **{dates: due})
    late = slow(CHEAP, OTHER, on="cheap", sent=4)
    found = made.correct(late)
    assert found.pays
    assert where(found)["t3"] == "other"
    (tardiness,) = evaluate(found.rest, found.schedule, "tardiness")
    assert tardiness == pytest.approx(0.0, abs=1e-9)


def test_a_deadline_that_nobody_can_keep_any_more_stops_no_repair() -> None:
    made = course([CHEAP, OTHER], in_a_row(4, "cheap"), "makespan", deadline=[9, 9, 9, 4.5])
    found = made.correct(slow(CHEAP, OTHER, on="cheap", sent=4))
    assert where(found)["t3"] == "other"
    (tardiness,) = evaluate(found.rest, found.schedule, "tardiness")
    assert tardiness >= 0.5, "a second from 4 s on"


def test_what_saves_no_memory_is_left_alone() -> None:
    """A peak of 10 bytes on each worker is the least; both tasks at once on one take 20."""
    plan = in_a_row(6, "cheap")
    late = slow(CHEAP, OTHER, on="cheap", sent=6)
    made = course([CHEAP, OTHER], plan, "memory", memory=[10.0] * 6)
    assert not made.correct(late).pays
    made = course([CHEAP, OTHER], plan, "memory,makespan", memory=[10.0] * 6)
    found = made.correct(late)
    assert found.pays, "as few bytes, and sooner"
    assert evaluate(found.rest, found.schedule, "memory") == (10.0,)


def test_memory_counts_before_time() -> None:
    """Two threads that run at once hold 20 bytes; the plan runs one task after the other."""
    wide = Worker("wide", kind="cheap", threads=2)
    made = course([CHEAP, wide], in_a_row(6, "cheap"), "memory,makespan", memory=[10.0] * 6)
    found = made.correct(slow(CHEAP, wide, on="cheap", sent=6))
    assert evaluate(found.rest, found.schedule, "memory") == (10.0,)
