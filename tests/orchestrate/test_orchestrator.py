"""The five stages together, without a cluster: observe, plan, re-use, decide, survive."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from orchestrator_core import (
    Cluster,
    Instance,
    InvalidInstance,
    Link,
    Orchestrator,
    RunRecord,
    TaskGraph,
    TaskRecord,
    Worker,
    check_schedule,
    plan,
)
from orchestrator_core.plan.budget import Budget
from orchestrator_core.store.memory import MemoryStore
from tests.orchestrate.sweep import SECONDS, SPEED, sweep


def two_workers() -> Cluster:
    return Cluster([Worker("w0", kind="fast"), Worker("w1", kind="slow")])


def ran(graph: TaskGraph, cluster: Cluster, advice) -> RunRecord:
    """A run in which the workers took turns, each at its own speed."""
    records = []
    for i, name in enumerate(graph.names):
        worker = cluster.workers[i % len(cluster)]
        seconds = SECONDS[graph.kind(i)] / SPEED[worker.kind]
        records.append(
            TaskRecord(name, graph.kind(i), worker.name, worker.kind, float(i), i + seconds, 1e3)
        )
    return RunRecord(
        run_id=uuid.uuid4().hex,
        flow="sweep",
        started_at=0.0,
        seconds=max(record.end for record in records),
        mode="observed",
        reason=advice.reason,
        graph=graph,
        cluster=cluster,
        graph_signature=advice.graph_signature,
        cluster_signature=advice.cluster_signature,
        tasks=tuple(records),
    )


@pytest.fixture
def store():
    return MemoryStore()


def learned(store, graph=None, cluster=None) -> None:
    """Let an orchestrator see one run of the sweep."""
    graph, cluster = graph or sweep(), cluster or two_workers()
    first = Orchestrator(store)
    first.record(ran(graph, cluster, first.advise(graph, cluster, "sweep")))
    first.close()


def test_a_flow_never_seen_is_only_observed(store):
    advice = Orchestrator(store).advise(sweep(), two_workers(), "sweep")
    assert not advice.adopted
    assert advice.plan is None
    assert "first run" in advice.reason


@pytest.mark.parametrize("hasty", [False, True])
def test_the_reason_and_the_forecast_tell_the_same_seconds(store, hasty):
    """Of tasks that take now more and now less, the forecast is a mean over draws; the reason told
    what the plan takes if each of them keeps to its usual time."""
    learned(store)
    run = ran(sweep(), two_workers(), Orchestrator(store).advise(sweep(), two_workers(), "sweep"))
    slower = [replace(task, end=task.end + 0.3 * task.seconds) for task in run.tasks]
    store.add_run(replace(run, run_id=uuid.uuid4().hex, tasks=tuple(slower)))
    advice = Orchestrator(store, hasty=hasty, budget=Budget(seconds=0.02)).advise(
        sweep(), two_workers(), "sweep"
    )
    plan = advice.plan
    assert advice.adopted, advice.reason
    figures = f"it takes {plan.predicted:.3g} s against {plan.default_predicted:.3g} s by Dask's"
    assert advice.reason.startswith(f"planned: {figures}")
    assert plan.reason == advice.reason


def test_the_second_run_is_planned_from_what_the_first_one_taught(store):
    learned(store)
    advice = Orchestrator(store).advise(sweep(), two_workers(), "sweep")
    assert advice.adopted, advice.reason
    # 2 + 1 seconds of work before and after, 6 x 8 between, on speeds 4 and 1: with five models
    # on the fast worker (10 s) and one on the slow one (8 s) it takes 0.5 + 10 + 0.25 s.
    assert advice.plan.predicted == pytest.approx(10.75, rel=0.1)
    assert advice.plan.lower_bound <= advice.plan.predicted
    placed = {a.task: a.worker for a in advice.plan.schedule.assignments}
    assert sum(worker == "w0" for worker in placed.values()) == 7


def test_the_schedule_is_valid_for_the_prices_that_it_was_made_for(store):
    learned(store)
    forecast = Orchestrator(store).forecast(sweep(), two_workers())
    check_schedule(forecast.instance, forecast.result.schedule)


def test_a_known_graph_under_other_names_is_not_planned_again(store):
    learned(store)
    first = Orchestrator(store)
    made = first.advise(sweep(), two_workers(), "sweep").plan
    first.close()
    graph = sweep()
    renamed = replace(graph, names=tuple(f"other {name}" for name in graph.names))
    again = Orchestrator(store).advise(renamed, two_workers(), "sweep").plan
    assert (made.cache, again.cache) == ("miss", "hit")
    assert again.predicted == pytest.approx(made.predicted, rel=0.05)
    assert {a.task for a in again.schedule.assignments} == set(renamed.names)


def test_a_schedule_for_other_costs_is_where_planning_begins(store):
    """Graham 1969: on two machines, the longest first gives 7 for 3, 3, 2, 2, 2; the best is 6."""
    first = Orchestrator(store)
    made, _ = first.schedule(on_equal_workers(3, 3, 2, 2, 2), "bag", planners=["hbmct"])
    first.close()
    dearer = on_equal_workers(6, 6, 4, 4, 4)
    assert plan(dearer, planners=["heft"]).makespan == pytest.approx(14)
    result, cache = Orchestrator(store, planners=("heft",)).schedule(dearer, "bag")
    assert (cache, result.planner) == ("near", made.planner)
    assert result.makespan == pytest.approx(12)


def on_equal_workers(*seconds: float) -> Instance:
    builder = TaskGraph.build()
    for index, each in enumerate(seconds):
        builder.task(f"task-{index}", seconds=each)
    return Instance.price(builder.done(), Cluster([Worker("w0"), Worker("w1")]))


def test_other_workers_or_tasks_are_another_key(store):
    learned(store)
    first = Orchestrator(store)
    first.advise(sweep(), two_workers(), "sweep")
    first.close()
    larger = Cluster([*two_workers().workers, Worker("w2", kind="slow")])
    assert Orchestrator(store).advise(sweep(), larger, "sweep").plan.cache == "miss"
    assert Orchestrator(store).advise(sweep(7), two_workers(), "sweep").plan.cache == "miss"


@pytest.mark.parametrize("mode", ["observe", "off"])
def test_modes_that_do_not_plan(store, mode):
    learned(store)
    advice = Orchestrator(store, mode=mode).advise(sweep(), two_workers(), "sweep")
    assert advice.plan is None
    assert mode in advice.reason


def test_off_remembers_nothing(store):
    off = Orchestrator(store, mode="off")
    off.record(ran(sweep(), two_workers(), off.advise(sweep(), two_workers(), "sweep")))
    off.close()
    assert store.runs() == []


def test_a_plan_that_saves_too_little_is_made_but_not_followed(store):
    learned(store)
    picky = Orchestrator(store, min_gain=0.99)
    advice = picky.advise(sweep(), two_workers(), "sweep")
    assert advice.plan is not None
    assert not advice.adopted
    assert "left to Dask" in advice.reason


def test_a_graph_that_is_too_large_is_left_to_dask(store):
    learned(store)
    advice = Orchestrator(store, largest=7).advise(sweep(), two_workers(), "sweep")
    assert advice.plan is None
    assert "8 tasks; 7 are planned" in advice.reason


def test_a_forecast_is_a_little_more_than_the_makespan(store):
    learned(store)
    forecast = Orchestrator(store).forecast(sweep(), two_workers())
    assert forecast.result.makespan <= forecast.expected < 1.5 * forecast.result.makespan


def test_an_answer_from_memory_knows_what_was_loaded(store):
    learned(store)
    cold = Orchestrator(store, in_memory=True, budget=Budget(seconds=0.0))
    assert cold.advise(sweep(), two_workers(), "sweep").plan is None
    cold.warm_up()
    assert cold.advise(sweep(), two_workers(), "sweep").adopted


class _Gone(MemoryStore):
    """A database that has just been deleted, locked or filled up."""

    def _fail(self, *_, **__):
        raise OSError("disk full")

    find = put = schedules = add_run = run = runs = observations = _fail


def test_a_database_that_is_gone_costs_a_plan_and_never_a_run(caplog):
    orchestrator = Orchestrator(_Gone())
    advice = orchestrator.advise(sweep(), two_workers(), "sweep")
    orchestrator.record(ran(sweep(), two_workers(), advice))
    orchestrator.close()
    assert advice.plan is None
    assert len([r for r in caplog.records if r.levelname == "WARNING"]) <= 1


def test_planning_that_crashes_leaves_the_run_unplanned(store, monkeypatch):
    learned(store)
    monkeypatch.setattr("orchestrator_core.plan.portfolio.plan", lambda *_, **__: 1 / 0)
    advice = Orchestrator(store).advise(sweep(), two_workers(), "sweep")
    assert advice.plan is None
    assert "ZeroDivisionError" in advice.reason


def test_a_task_that_fits_nowhere_is_named_in_the_reason(store):
    builder = TaskGraph.build()
    builder.task("embed", seconds=1.0, resources={"GPU": 2})
    advice = Orchestrator(store).advise(builder.done(), two_workers(), "embed")
    assert "'embed' needs 2 GPU" in advice.reason


@pytest.mark.parametrize("wish", [{"memory": 4e15}, {"resources": {"GPU": 2}}])
def test_what_no_worker_has_is_told_once_even_before_anything_was_learned(store, caplog, wish):
    advisor, cluster = Orchestrator(store), Cluster([Worker("w0", memory=8e9)])
    for token in ("a", "b"):
        builder = TaskGraph.build()
        builder.task(f"big-{token}", **wish)
        builder.task("small")
        reason = advisor.advise(builder.done(), cluster, "flow").reason
        assert reason.startswith(f"not planned: task 'big-{token}' needs ")
    (told,) = [each.getMessage() for each in caplog.records]
    assert told.startswith("left to Dask, which heeds no hints: task 'big-a' needs ")


def test_a_graph_that_states_its_times_needs_no_first_run(store):
    builder = TaskGraph.build()
    for i in range(8):
        builder.task(f"t{i}", kind="t", seconds=1.0)
    cluster = Cluster([Worker("w0", kind="fast", speed=4.0), Worker("w1", kind="slow")])
    assert Orchestrator(store).advise(builder.done(), cluster, "flow").plan is not None


def test_a_forecast_of_the_unknown_is_refused_by_name(store):
    with pytest.raises(InvalidInstance, match=r"'load-0'.*not known"):
        Orchestrator(store).forecast(sweep(), two_workers())


def test_on_equal_workers_with_equal_tasks_nothing_is_gained_and_dask_is_left_alone(store):
    """Eight equal tasks on two equal workers: Dask's own order is optimal already."""
    builder = TaskGraph.build()
    for i in range(8):
        builder.task(f"t{i}", kind="t", seconds=1.0)
    advice = Orchestrator(store).advise(
        builder.done(), Cluster([Worker("w0"), Worker("w1")]), "flow"
    )
    assert advice.plan is not None
    assert not advice.adopted


def test_the_links_that_runs_found_are_there_when_a_process_starts(store):
    workers = two_workers().workers
    slow, quick = Cluster(workers, Link(0.001, 1e7)), Cluster(workers, Link(0.001, 1e9))
    other = Cluster(workers[:1], Link(0.001, 1e8))
    orchestrator = Orchestrator(store)
    run = ran(sweep(), two_workers(), orchestrator.advise(sweep(), two_workers(), "sweep"))
    for started, measured in enumerate((slow, other, quick, None)):
        found = replace(run, run_id=uuid.uuid4().hex, started_at=float(started), measured=measured)
        orchestrator.record(found)
    orchestrator.close()
    later = Orchestrator(store)
    assert later.measured == ()
    later.warm_up()
    assert later.measured == (other, quick), "the latest of each crowd, and it comes last"
