"""A process that has loaded no compiled code answers small questions without it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator_core import (
    Budget,
    Cluster,
    Orchestrator,
    RunRecord,
    ScheduleStore,
    TaskGraph,
    TaskRecord,
    Worker,
    check_schedule,
)
from orchestrator_core.execute.advice import Advice
from orchestrator_core.orchestrate import first_answer, first_schedule, loading
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.forecaster import IN_A_HURRY
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.orchestrate.loading import Loading
from orchestrator_core.plan import warm
from orchestrator_core.store.codec import pack_json
from orchestrator_core.store.memory import MemoryStore
from tests.orchestrate.sweep import SECONDS, SPEED, sweep

CLUSTER = Cluster([Worker("w0", kind="fast"), Worker("w1", kind="slow")])


def run_of(graph: TaskGraph) -> RunRecord:
    """Both workers in turn, each at its own speed."""
    records = []
    for i, name in enumerate(graph.names):
        worker = CLUSTER.workers[i % 2]
        end = i + SECONDS[graph.kind(i)] / SPEED[worker.kind]
        records.append(TaskRecord(name, graph.kind(i), worker.name, worker.kind, i, end, 1e3))
    return RunRecord(
        run_id="0" * 32,
        flow="sweep",
        started_at=0.0,
        seconds=max(record.end for record in records),
        mode="observed",
        reason="",
        graph=graph,
        cluster=CLUSTER,
        graph_signature="g",
        cluster_signature="c",
        tasks=tuple(records),
    )


@pytest.fixture
def store() -> MemoryStore:
    found = MemoryStore()
    found.add_run(run_of(sweep()))
    return found


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process of its own."""
    monkeypatch.setattr(warm, "is_loaded", lambda: False)


@pytest.mark.usefixtures("cold")
def test_it_is_a_short_searchs_or_what_is_stored(store: MemoryStore) -> None:
    brisk = Orchestrator(store, brisk=True)
    advice = brisk.advise(sweep(), CLUSTER, "sweep")
    brisk.close()
    assert advice.adopted, advice.reason
    assert advice.plan is not None
    assert advice.instance is not None
    assert (advice.plan.planner, advice.plan.cache) == ("shaken-heft", "miss")
    # As a search finds it: 0.5 + 10 + 0.25 s, with five of six models on the fast worker.
    assert advice.plan.predicted == pytest.approx(10.75, rel=0.1)
    assert 0 < advice.plan.lower_bound <= advice.plan.predicted
    check_schedule(advice.instance, advice.plan.schedule)
    # Numbers of NumPy's cannot be written, and the run with them.
    told = (advice.plan.predicted, advice.plan.default_predicted, advice.plan.lower_bound)
    assert {type(each) for each in told} == {float}
    pack_json(replace(run_of(sweep()), plan=advice.plan))
    again = Orchestrator(store, brisk=True).advise(sweep(), CLUSTER, "sweep")
    assert again.plan is not None
    assert (again.plan.cache, again.plan.schedule) == ("hit", advice.plan.schedule)


@pytest.mark.usefixtures("cold")
def test_a_large_question_is_planned_at_full_strength(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "MOST_BRISK", len(sweep()) - 1)
    asked: list[str] = []
    monkeypatch.setattr(first_answer, "first_answer", lambda *_: asked.append("first answer"))
    assert Orchestrator(store, brisk=True).advise(sweep(), CLUSTER, "sweep").adopted
    assert not asked


def test_who_has_loaded_compiled_code_uses_it(store: MemoryStore) -> None:
    Orchestrator(store).advise(sweep(), CLUSTER, "sweep")
    assert warm.is_loaded()
    assert not Loading(brisk=True).may_be_brisk(1)


@pytest.mark.usefixtures("cold")
def test_only_large_runs_are_a_reason_to_load_ahead(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[bool] = []
    monkeypatch.setattr(Loading, "now", lambda _: loaded.append(True))
    Orchestrator(store, brisk=True).warm_up()
    assert not loaded
    monkeypatch.setattr(loading, "MOST_BRISK", len(sweep()) - 1)
    Orchestrator(store, brisk=True).warm_up()
    assert loaded


def test_a_process_with_compiled_code_does_not_read_all_runs_before_each_flow(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "is_loaded", lambda: True)
    loaded: list[bool] = []
    monkeypatch.setattr(Loading, "now", lambda _: loaded.append(True))
    read: list[str] = []
    monkeypatch.setattr(store, "run", read.append)
    Orchestrator(store, brisk=True).warm_up()
    assert loaded
    assert not read, "an answer takes what it needs from the database itself"
    Orchestrator(MemoryStore(), brisk=True).warm_up()
    assert len(loaded) == 1, "nothing is known, so nothing will be planned"


ASK = """
import sys
from orchestrator_core import Orchestrator, ScheduleStore
store = ScheduleStore(sys.argv[1])
run = store.run("0" * 32)
brisk = Orchestrator(store, brisk=True)
brisk.warm_up()
advice = brisk.advise(run.graph, run.cluster, "sweep")
assert advice.adopted, advice.reason
assert "numba" not in sys.modules, "it takes a second to load"
print(advice.plan.schedule.makespan)
"""


def test_a_new_process_answers_without_a_compiler(tmp_path: Path) -> None:
    place = str(tmp_path / "runs.db")
    store = ScheduleStore(place)
    store.add_run(run_of(sweep()))
    told = subprocess.run(
        [sys.executable, "-c", ASK, place], capture_output=True, text=True, check=True, timeout=60
    )
    in_this = Orchestrator(store, planners=("heft",)).forecast(sweep(), CLUSTER).result
    store.close()
    assert in_this.lower_bound <= float(told.stdout) <= in_this.makespan * (1 + 1e-9)


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize("brisk", [True, False])
def test_what_dask_really_took_is_held_against_the_plan(store: MemoryStore, brisk: bool) -> None:
    """A few simulated runs of Dask may all be lucky, or none: what it took in earlier runs of the
    same graph counts the more, the more there were. The time before the first task is no part."""

    def advised(seconds: float, runs: int) -> Advice:
        for number in range(runs):
            late = tuple(replace(t, start=t.start + 9, end=t.end + 9) for t in own.tasks)
            again = replace(own, run_id=f"{len(told):032}", seconds=9 + seconds, tasks=late)
            store.add_run(replace(again, graph_signature=digest, started_at=1.0 + number))
            told.append(again)
        orchestrator = Orchestrator(store, brisk=brisk)
        advice = orchestrator.advise(sweep(), CLUSTER, "sweep")
        orchestrator.close()
        assert advice.plan is not None
        return advice

    own, told = run_of(sweep()), []
    digest = Keys.of(sweep(), CLUSTER).graph.digest
    alone = advised(0.0, 0)
    assert alone.adopted
    usual = alone.plan.default_predicted
    slow = advised(2.0 * usual, 1).plan.default_predicted
    assert 1.15 * usual < slow < 2.0 * usual, "half way, in the logarithm"
    quick = advised(0.8 * usual, 5).plan.default_predicted
    assert quick < 0.9 * usual


@pytest.mark.usefixtures("cold")
def test_a_long_run_is_worth_loading_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 1000 times the seconds, what a search saves is more than what loading takes."""
    forecasts: list[str] = []
    forecast = Orchestrator.planned

    def noted(self: Orchestrator, graph: TaskGraph, *more: Any) -> Forecast:
        forecasts.append("at full strength")
        return forecast(self, graph, *more)

    monkeypatch.setattr(Orchestrator, "planned", noted)
    for run in (run_of(sweep()), replace(run_of(sweep()), tasks=LONG)):
        assert not forecasts
        store = MemoryStore()
        store.add_run(run)
        brisk = Orchestrator(store, brisk=True, budget=Budget(seconds=0.1))
        assert brisk.advise(sweep(), CLUSTER, "sweep").adopted
        brisk.close()
    assert forecasts


LONG = tuple(replace(t, end=t.start + 1000 * t.seconds) for t in run_of(sweep()).tasks)


def test_who_plans_in_a_hurry_is_known_to_whoever_does_not() -> None:
    hurried = (first_schedule.PLANNER, first_schedule.SHAKEN, first_schedule.QUICK)
    assert set(hurried) == set(IN_A_HURRY)


def test_what_was_planned_in_a_hurry_is_where_a_search_begins() -> None:
    """Graham 1969: on two machines, the longest first gives 7 for 3, 3, 2, 2, 2; the best is 6."""
    builder = TaskGraph.build()
    for i, seconds in enumerate((3.0, 3.0, 2.0, 2.0, 2.0)):
        builder.task(f"t{i}", seconds=seconds)
    bag, twins = builder.done(), Cluster([Worker("a"), Worker("b")])
    store = MemoryStore()
    hurried = Orchestrator(store, planners=("heft",))
    instance = hurried.price(bag, twins)
    assert hurried.schedule(instance, "bag")[0].makespan == pytest.approx(7)
    hurried.close()
    calm = Orchestrator(store)
    assert calm.schedule(instance, "bag")[0].makespan == pytest.approx(6)
    calm.close()
    assert Orchestrator(store).schedule(instance, "bag")[1] == "hit"
