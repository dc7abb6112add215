"""Plans that were made one after the other, as if all workers were free, put together."""

from __future__ import annotations

from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from orchestrator_prefect.runs.joined import joined

CLUSTER = Cluster([Worker("w"), Worker("v", threads=2)])


def spans(schedule: Schedule) -> dict[str, tuple[float, float]]:
    return {row.task: (row.start, row.end) for row in schedule.assignments}


def graph(**after: str) -> TaskGraph:
    builder = TaskGraph.build()
    for name in "abcd":
        builder.task(name, after=list(after.get(name, "")))
    return builder.done()


def test_plans_that_do_not_meet_stay_as_they_are() -> None:
    first = Schedule([Assignment("a", "w", 0, 4), Assignment("b", "v", 0, 2)])
    second = Schedule([Assignment("c", "w", 4, 5), Assignment("d", "v", 1, 9)])
    made = joined([first, second], graph(), CLUSTER)
    assert spans(made) == {"a": (0, 4), "b": (0, 2), "c": (4, 5), "d": (1, 9)}


def test_an_earlier_start_comes_first_and_what_waits_comes_later_too() -> None:
    """`c` was planned at 1 on a worker that has `a` until 4; `d`, on another, takes its output."""
    first = Schedule([Assignment("a", "w", 0, 4), Assignment("b", "w", 4, 6)])
    second = Schedule(
        [Assignment("c", "w", 1, 3), Assignment("d", "v", 5, 6)],
        [Transfer("c", "w", "v", 3, 3, 5, 10)],
    )
    made = joined([first, second], graph(d="c"), CLUSTER)
    assert spans(made) == {"a": (0, 4), "c": (4, 6), "b": (6, 8), "d": (8, 9)}
    assert [(sent.start, sent.end) for sent in made.transfers] == [(6, 8)]


def test_an_input_from_an_earlier_plan_is_waited_for() -> None:
    first = Schedule([Assignment("a", "w", 0, 4)])
    second = Schedule([Assignment("b", "v", 1, 2)])
    assert spans(joined([first, second], graph(b="a"), CLUSTER)) == {"a": (0, 4), "b": (4, 5)}


def test_two_threads_take_two_tasks_at_a_time() -> None:
    rows = [Assignment(name, "v", 0, 3) for name in "abc"]
    made = joined([Schedule(rows[:2]), Schedule(rows[2:])], graph(), CLUSTER)
    assert spans(made) == {"a": (0, 3), "b": (0, 3), "c": (3, 6)}
