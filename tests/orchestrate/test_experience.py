"""What runs really took corrects what is simulated, the more the more runs there were."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator_core.execute.record import PlanRecord, RunRecord, TaskRecord
from orchestrator_core.graph import Cluster, Link, Task, TaskGraph, Worker
from orchestrator_core.orchestrate.experience import Experience, Lessons
from orchestrator_core.plan.schedule import Schedule

CLUSTER = Cluster([Worker("a"), Worker("b", kind="fast", speed=2.0)])
GRAPH = TaskGraph.from_tasks([Task("t", seconds=1.0)])


def run(
    mode: str, seconds: float, predicted: float | None = None, bound: float = 0.0, **other: Any
) -> RunRecord:
    plan = None
    if predicted is not None:
        plan = PlanRecord(
            Schedule([]), predicted, bound, "none", "heft", "miss", adopted=True, reason=""
        )
    line = {"graph_signature": "g", "cluster": CLUSTER, "status": "ok", "graph": GRAPH} | other
    return RunRecord(
        run_id="r",
        flow="f",
        started_at=0.0,
        seconds=seconds,
        mode=mode,
        reason="",
        cluster_signature="c",
        plan=plan,
        **line,
    )


def lessons(*runs: RunRecord) -> Lessons:
    experience = Experience()
    for each in runs:
        experience.learn(each)
    return experience.of("g", CLUSTER)


def test_without_runs_a_simulation_is_all_there_is() -> None:
    nothing = lessons()
    assert nothing.planned(3.0) == nothing.default(3.0) * 1.0 == 3.0


def test_dask_takes_what_it_took() -> None:
    once, often = lessons(run("observed", 8.0)), lessons(*[run("observed", 8.0)] * 8)
    assert once.default(2.0) == pytest.approx(2.0 * 3.0**0.5), "not further than three times"
    assert once.default(6.0) == pytest.approx(48.0**0.5), "half way, in the logarithm"
    assert often.default(6.0) == pytest.approx(8.0, rel=0.04)


def test_the_luck_of_a_single_run_does_not_decide() -> None:
    runs = [run("observed", seconds) for seconds in (4.0, 13.0, 7.0, 7.2, 6.8)]
    assert lessons(*runs).default(7.0) == pytest.approx(7.0)


def test_what_dask_does_sooner_than_is_possible_was_believed_to_take_too_long() -> None:
    taught = lessons(*[run("observed", 8.0)] * 8)
    assert taught.overrated(7.0) == 0.0, "it is possible"
    assert taught.planned(12.0, taught.overrated(10.0)) == pytest.approx(9.6, rel=0.03)
    assert taught.overrated(0.0) == lessons().overrated(3.0) == 0.0, "nothing is known"


def test_only_the_latest_runs_count() -> None:
    runs = [run("observed", 100.0)] * 9 + [run("observed", 5.0)] * 8
    assert lessons(*runs).dask == [5.0] * 8


def test_forecasts_of_plans_come_closer_with_each_run() -> None:
    """A plan always takes 20 % longer than simulated."""
    experience, errors = Experience(), []
    for _ in range(6):
        predicted = experience.of("g", CLUSTER).planned(10.0)
        errors.append(12.0 / predicted - 1)
        experience.learn(run("planned", 12.0, predicted))
    assert errors[0] == pytest.approx(0.2)
    assert errors[3] < 0.03
    assert sorted(errors, reverse=True) == errors


def test_that_forecasts_were_too_short_counts_no_more_once_durations_are_known() -> None:
    """Plans took 12 s where 4 were promised, since durations were wrong; 11 are simulated now."""
    taught = lessons(*[run("planned", 12.0, 4.0)] * 4)
    assert taught.planned(4.0) == pytest.approx(12.0), "what would be so today counts"
    assert taught.planned(11.0) == pytest.approx(12.0)
    assert taught.planned(20.0) == 20.0, "the data have grown since"


def test_dasks_runs_are_followed_where_they_become_longer() -> None:
    growing = lessons(*[run("observed", 4.0 * 1.2**i) for i in range(8)])
    assert growing.usual_dask > 4.0 * 1.2**5
    assert lessons(*[run("observed", seconds) for seconds in (4, 7, 4, 7, 4, 7)]).usual_dask == 5.5


def test_what_dask_did_on_less_data_does_not_say_that_durations_are_overrated() -> None:
    """It took 5 s where 4 were proven; now 10 are, for the data have grown."""
    smaller = lessons(*[run("observed", 5.0, 6.0, 4.0)] * 3)
    assert smaller.overrated(10.0) == 0.0
    wrong = lessons(*[run("observed", 5.0, 12.0, 10.0)] * 3)
    assert wrong.overrated(10.0) > 0.4, "it took less than was believed possible at the time"


def test_what_a_flow_recalls_of_dask_is_as_what_was_noted() -> None:
    """Stores tell of the newest first; seconds count from the first task."""
    seconds = [4.0 * 1.2**i for i in range(8)]
    task = TaskRecord("t", "t", "a", "k", 0.5, 1.0)
    stored = [run("observed", each + 0.5, 9.0, 4.0, tasks=(task,)) for each in seconds]
    recalled = Lessons.of_dask(stored[::-1], CLUSTER)
    assert recalled.dask == pytest.approx(seconds)
    assert recalled.usual_dask > seconds[-3]
    assert recalled.overrated(30.0) == 0.0, "no run was sooner than was believed possible"


def test_other_graphs_other_clusters_and_failures_teach_nothing() -> None:
    assert (
        lessons(
            run("observed", 9.0, graph_signature="other"),
            run("observed", 9.0, cluster=Cluster([Worker("a")])),
            run("observed", 9.0, status="failed"),
            run("planned", 9.0),
        )
        == Lessons()
    )


def cut(done: str, dropped: int, status: str = "cancelled") -> RunRecord:
    """Ten tasks and one that reads the first of them; of these `done` was executed."""
    builder = TaskGraph.build()
    for i in range(10):
        builder.task(f"t-{i}")
    builder.task("last", after=["t-0"])
    graph = builder.done()
    left = tuple(name for name in graph.names if name != done)[:dropped]
    ended = (TaskRecord(done, "t", "a", "worker", 0.0, 1.0),)
    return run("observed", 1.0, graph=graph, dropped=left, tasks=ended, status=status)


def test_of_a_run_that_was_cut_short_only_that_is_known() -> None:
    assert lessons(cut("t-1", 6)) == Lessons(cut=True)
    assert lessons(cut("t-1", 6), run("observed", 8.0)) == lessons(run("observed", 8.0))
    again = lessons(run("observed", 8.0), cut("t-1", 6))
    assert (again.cut, again.dask) == (True, [8.0])


def test_who_stops_before_any_result_or_lets_go_of_hardly_any_has_not_cut_it_short() -> None:
    assert not lessons(cut("t-0", 10)).cut, "nobody had a result of it"
    assert not lessons(cut("t-1", 1)).cut
    assert not lessons(cut("t-1", 6, status="ok")).cut, "a flow that waited for all it needed"


def test_a_run_that_workers_joined_later_teaches_nothing_of_those_before_them() -> None:
    late = TaskRecord("t", "t", "joined", "fast", 0.5, 1.0)
    for mode, predicted in (("observed", None), ("planned", 9.0)):
        assert lessons(run(mode, 4.0, predicted, tasks=(late,))) == Lessons()
    assert Lessons.of_dask([run("observed", 4.0, tasks=(late,))], CLUSTER) == Lessons()


def test_links_that_are_better_known_make_no_other_cluster() -> None:
    measured = Cluster(CLUSTER.workers, Link(latency=0.003, bandwidth=4e8))
    assert lessons(run("observed", 8.0, cluster=measured)).dask == [8.0]


@pytest.mark.parametrize("mode", ["observed", "planned"])
def test_a_run_beside_others_says_nothing_about_how_long_it_takes(mode: str) -> None:
    threads = sum(worker.threads for worker in CLUSTER.workers)
    beside = run(mode, 30.0, predicted=5.0, others=0.4 * 30.0 * threads)
    hardly = run(mode, 6.0, predicted=5.0, others=0.04 * 6.0 * threads)
    assert lessons(beside) == lessons()
    assert lessons(hardly) == lessons(run(mode, 6.0, predicted=5.0)) != lessons()
    task = (TaskRecord("t", "t", "a", "a", 0.0, 6.0),)
    of_dask = Lessons.of_dask(
        [replace(each, tasks=task, graph=GRAPH) for each in (beside, hardly)], CLUSTER
    )
    assert of_dask.dask == [6.0]


FOUR = TaskGraph.from_tasks([Task(f"t-{i}", seconds=1.0) for i in range(4)])


def with_idle(mode: str, seconds: float, *idle: str, status: str = "cached") -> RunRecord:
    """A run of four tasks of which these had nothing to do."""
    tasks = tuple(
        TaskRecord(name, "t", "a", "k", 0.0, seconds, status=status if name in idle else "ok")
        for name in FOUR.names
    )
    return run(mode, seconds, 9.0 if mode == "planned" else None, tasks=tasks, graph=FOUR)


@pytest.mark.parametrize("status", ["cached", "failed"])
@pytest.mark.parametrize("mode", ["observed", "planned"])
def test_a_run_whose_tasks_had_nothing_to_do_says_nothing_of_the_next(
    mode: str, status: str
) -> None:
    usual, stored = with_idle(mode, 8.0), with_idle(mode, 0.1, *FOUR.names, status=status)
    partly = with_idle(mode, 3.0, "t-0", "t-1", status=status)
    for rest in ([stored], [stored] * 3, [partly], [partly, stored, partly, stored]):
        taught, expected = lessons(usual, *rest), lessons(usual)
        assert taught.planned(7.0) == expected.planned(7.0)
        assert taught.default(7.0) == expected.default(7.0)
    of_dask = Lessons.of_dask([stored, partly, stored, usual], CLUSTER)
    assert of_dask.dask == Lessons.of_dask([usual], CLUSTER).dask


def test_what_is_stored_each_time_is_what_runs_are_like() -> None:
    usual, partly = with_idle("observed", 8.0), with_idle("observed", 3.0, "t-0")
    assert lessons(usual, partly, partly, partly).dask == [3.0, 3.0]
    assert lessons(usual, partly, partly, usual).dask == [8.0], "it is computed again"
    assert Lessons.of_dask([partly, partly, usual], CLUSTER).dask == [3.0]


def test_few_tasks_that_fail_do_not_make_a_run_another_one() -> None:
    graph = TaskGraph.from_tasks([Task(f"t-{i}", seconds=1.0) for i in range(20)])
    tasks = tuple(
        TaskRecord(name, "t", "a", "k", 0.0, 4.0, status="failed" if name == "t-3" else "ok")
        for name in graph.names
    )
    assert lessons(run("observed", 4.0, graph=graph, tasks=tasks)).dask == [4.0]


def test_dask_takes_as_long_beside_the_bound_of_what_is_to_be_done_now() -> None:
    """Each run is given other data, and takes a tenth longer than is proven."""
    task = (TaskRecord("t", "t", "a", "k", 0.0, 1.0),)
    runs = [run("observed", 1.1 * each, 9.0, each, tasks=task) for each in (10.0, 20.0, 40.0, 80.0)]
    for taught in (lessons(*runs), Lessons.of_dask(runs[::-1], CLUSTER)):
        for bound in (8.0, 30.0, 100.0):
            simulated = 1.1 * bound
            told = taught.default(simulated, taught.off(simulated, bound))
            assert told == pytest.approx(simulated)


def test_dask_that_takes_longer_than_is_simulated_each_time_will_again() -> None:
    slow = lessons(*[run("observed", 2.0 * each, 9.0, each) for each in (10.0, 20.0, 30.0)])
    assert slow.default(20.0, slow.off(20.0, 20.0)) == pytest.approx(20.0 * 2.0**0.75)
    first = lessons(run("observed", 40.0), run("observed", 40.0))
    assert first.off(20.0, 20.0) == first.off(20.0) > 0.4, "no run had a bound"
