"""Several plans become one promise."""

from __future__ import annotations

from dataclasses import replace

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import PlanRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from orchestrator_prefect.runs.promise import Epoch, promise


def graph(name: str) -> TaskGraph:
    builder = TaskGraph.build()
    builder.task(name)
    return builder.done()


def plan(task: str, seconds: float, bound: float, **fields: object) -> PlanRecord:
    schedule = Schedule(
        [Assignment(task, "w", 0.0, seconds)],
        [Transfer(task, "w", "v", seconds, seconds, seconds + 1.0, 10.0)],
    )
    made = PlanRecord(schedule, seconds, bound, f"bound of {task}", "heft", "hit", True, "pays")
    return replace(made, **fields)  # type: ignore[arg-type]


def epoch(started: float, made: PlanRecord | None, name: str = "t") -> Epoch:
    return Epoch(graph(name), Advice(made, "reason"), started)


def promised(epochs: list[Epoch]) -> PlanRecord | None:
    """The promise on one worker with a thread, and one with two."""
    builder = TaskGraph.build()
    names = {name for each in epochs for name in (*each.graph.names, *_planned(each))}
    for name in sorted(names):
        builder.task(name)
    return promise(epochs, builder.done(), Cluster([Worker("w"), Worker("v", threads=2)]))


def _planned(each: Epoch) -> tuple[str, ...]:
    plan = each.advice.plan if each.advice is not None else None
    return () if plan is None else plan.schedule.task_names


def test_no_plan_no_promise() -> None:
    assert promised([]) is None
    assert promised([epoch(0.0, None), Epoch(graph("t"), None, 1.0)]) is None


def test_one_epoch_keeps_its_plan() -> None:
    only = plan("a", 4.0, 3.0)
    assert promised([epoch(0.0, only)]) == only


def test_it_counts_from_the_first_submission() -> None:
    """Submitting and planning took 0.7 s; so the run of a 4 s plan ends after 4.7 s."""
    joined = promised([epoch(0.7, plan("a", 4.0, 3.0, default_predicted=6.0))])
    assert joined is not None
    assert joined.predicted == 4.7
    assert joined.lower_bound == 3.7
    assert joined.default_predicted == 6.7
    assert [(row.start, row.end) for row in joined.schedule.assignments] == [(0.7, 4.7)]
    assert joined.schedule.transfers[0].start == 4.7


def test_what_is_promised_of_an_epoch_is_more_than_its_makespan() -> None:
    """Delays add up, so 4 s of plan are forecast to take 4.5 s, and 5 s, 5.75 s."""
    first, second = plan("a", 4.0, 3.0, predicted=4.5), plan("b", 5.0, 4.0, predicted=5.75)
    joined = promised([epoch(0.25, first), epoch(10.0, second, "b")])
    assert joined is not None
    assert joined.predicted == 15.75
    assert joined.schedule.makespan == 15.0


def test_epochs_follow_each_other() -> None:
    """The second epoch starts at 10 s: ends at 10 + 5, and cannot end before 10 + 4."""
    joined = promised([epoch(0.0, plan("a", 4.0, 3.0)), epoch(10.0, plan("b", 5.0, 4.0), "b")])
    assert joined is not None
    assert joined.predicted == 15.0
    assert joined.lower_bound == 14.0
    assert joined.bound_method == "bound of b"
    assert joined.parts == 2
    assert [(row.task, row.start) for row in joined.schedule.assignments] == [
        ("a", 0.0),
        ("b", 10.0),
    ]
    assert joined.schedule.transfers[1].end == 16.0


def test_a_long_first_epoch_bounds_the_whole() -> None:
    """Both on one worker with one thread: the second begins when the first has ended."""
    joined = promised([epoch(0.0, plan("a", 40.0, 30.0)), epoch(10.0, plan("b", 5.0, 4.0), "b")])
    assert joined is not None
    assert (joined.predicted, joined.lower_bound) == (45.0, 30.0)
    assert [(row.start, row.end) for row in joined.schedule.assignments] == [(0, 40), (40, 45)]
    assert [sent.start for sent in joined.schedule.transfers] == [40.0, 45.0]


def test_what_was_not_followed_is_no_part_of_the_promise() -> None:
    refused = plan("b", 5.0, 4.0, adopted=False, cache="miss")
    joined = promised([epoch(0.0, plan("a", 4.0, 3.0)), epoch(10.0, refused, "b")])
    assert joined is not None
    assert joined.adopted
    assert joined.predicted == 4.0
    assert joined.cache == "hit"


def both(first: str, second: str, **fields: object) -> PlanRecord:
    """A plan of two tasks of 4 s, one after the other; bound 8 s, forecast 9 s."""
    rows = [Assignment(first, "w", 0.0, 4.0), Assignment(second, "w", 4.0, 8.0)]
    sent = [Transfer(second, "w", "v", 8.0, 8.0, 9.0, 10.0)]
    made = PlanRecord(Schedule(rows, sent), 9.0, 8.0, "area", "heft", "hit", True, "pays")
    return replace(made, **fields)  # type: ignore[arg-type]


def of_run(epochs: list[Epoch], names: str) -> PlanRecord:
    builder = TaskGraph.build()
    for name in names:
        builder.task(name)
    made = promise(epochs, builder.done(), Cluster([Worker("w"), Worker("v")]))
    assert made is not None
    return made


def test_a_plan_that_foresaw_all_is_the_promise_of_all_epochs() -> None:
    """The second epoch came as foreseen: nobody was asked."""
    plan = both("a", "b", default_predicted=12.0)
    followed = Epoch(graph("b"), None, 5.0)
    assert of_run([Epoch(graph("a"), Advice(plan, "pays"), 0.0, 1), followed], "ab") == plan


def test_what_was_foreseen_and_did_not_come_is_no_part_of_the_promise() -> None:
    """Only `a` came, so 4 s less are promised; of `a` alone nothing was proven."""
    made = of_run([Epoch(graph("a"), Advice(both("a", "b"), "pays"), 0.0, 1)], "a")
    assert [row.task for row in made.schedule.assignments] == ["a"]
    assert len(made.schedule.transfers) == 0
    assert (made.predicted, made.lower_bound) == (5.0, 0.0)
    assert made.default_predicted is None
    assert made.gap is None


def test_what_was_planned_again_counts_by_its_last_plan() -> None:
    """At 6 s the run leaves its way: `b` is planned anew with `c`, bound 8 s from then on."""
    first, second = both("a", "b"), both("c", "b")
    epochs = [
        Epoch(graph("a"), Advice(first, "pays"), 0.0, 1),
        Epoch(graph("b"), Advice(second, "pays"), 6.0),
    ]
    made = of_run(epochs, "abc")
    assert [(row.task, row.start) for row in made.schedule.assignments] == [
        ("a", 0.0),
        ("c", 6.0),
        ("b", 10.0),
    ]
    assert (made.predicted, made.lower_bound) == (15.0, 14.0)
