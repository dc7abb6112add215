"""`orchestrator why`."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from orchestrator_core.cli.why_view import because
from orchestrator_core.report.why.binding import Binding
from orchestrator_core.store.sql import ScheduleStore
from tests.cli.conftest import Invoke, a_run

HOSTILE = ("\x1b[31m<script>alert(1)</script>[red]", "</b>\u202e" + "x" * 900)


@pytest.fixture
def planned(store: ScheduleStore) -> ScheduleStore:
    store.add_run(a_run())
    return store


def test_plan_outcome_and_runner_up(invoke: Invoke, planned: ScheduleStore) -> None:
    """A chain of 1.5 s each on w0 of speed 2: on w1 one of them takes 3 s, so 1.5 s more, or a
    little less by what was learned."""
    shown = " ".join(invoke("why", "last", "fit").out.split())
    assert "on w0 (fast), 1.50 s to 3.00 s" in shown
    assert "it needs the output of load, made on the same worker by 1.50 s" in shown
    assert "none: on the critical path of the plan" in shown
    assert "on w0 (fast), 1.60 s to 3.20 s, 0.20 s late" in shown
    costs = r"w1, which costs \+1\.[45]. s: all planned anew around it, beside 3.00 s at best"
    assert re.search(costs, shown)
    assert "exact: both are proven optimal" in shown


def test_json_has_the_same_figures(invoke: Invoke, planned: ScheduleStore) -> None:
    told = json.loads(invoke("why", "last", "fit", "--json").out)
    assert told["planned"]["binding"]["because"] == "input"
    assert told["planned"]["slack"] == 0
    assert told["runner_up"]["worker"] == "w1"
    assert told["runner_up"]["cost"]["exact"] is True
    assert told["runner_up"]["cost"]["seconds"] == pytest.approx(1.5, abs=0.05)
    assert told["options"]["best"] == pytest.approx(3.0)


def test_what_prefect_took_around_the_code_is_told(invoke: Invoke, store: ScheduleStore) -> None:
    run = a_run()
    tasks = tuple(replace(task, overhead_seconds=0.25) for task in run.tasks)
    store.add_run(replace(run, tasks=tasks))
    shown = " ".join(invoke("why", "last", "fit").out.split())
    assert "took 1.60 s; 0.25 s of that around its code, by Prefect" in shown
    told = json.loads(invoke("why", "last", "fit", "--json").out)
    assert told["ran"]["overhead"] == 0.25


@pytest.mark.parametrize(
    ("attempt", "said"), [(2, "its attempt before"), (1, "an instance of it before")]
)
def test_a_task_that_ran_before_is_told_from_another_one(
    invoke: Invoke, store: ScheduleStore, attempt: int, said: str
) -> None:
    run = a_run()
    (fit,) = (task for task in run.tasks if task.task == "fit")
    again = replace(fit, start=fit.end + 0.5, end=fit.end + 1, attempt=attempt)
    store.add_run(replace(run, tasks=(*run.tasks, again)))
    shown = " ".join(invoke("why", "last", "fit").out.split())
    assert f"waited for {said}, which had its worker; began 0.50 s after that" in shown


def test_a_task_that_waited_for_nothing_is_told_from_the_start_of_the_run(
    invoke: Invoke, store: ScheduleStore
) -> None:
    """The first of a chain; what is said of others, as of the critical path, is said of it too."""
    run = a_run()
    tasks = tuple(
        replace(task, start=task.start + 0.5, end=task.end + 0.5, transfer_seconds=0.25)
        for task in run.tasks
    )
    store.add_run(replace(run, tasks=tasks, seconds=run.seconds + 0.5))
    shown = " ".join(invoke("why", "last", "load").out.split())
    assert (
        "waited for nothing; began 0.50 s after the start of the run, of which 0.25 s fetching "
        "inputs, on the critical path of the run"
    ) in shown


def test_a_run_without_a_plan(invoke: Invoke, store: ScheduleStore) -> None:
    store.add_run(a_run(planned=False))
    shown = " ".join(invoke("why", "last", "fit").out.split())
    assert "nowhere: Dask decided (a test)" in shown
    assert "waited for the output of load" in shown
    assert "runner-up" not in shown


def test_a_plan_that_cannot_be_priced_is_explained_without_other_workers(
    invoke: Invoke, store: ScheduleStore
) -> None:
    """The plan is of load alone, and fit neither ran nor states a time."""
    run = a_run()
    unknown = run.graph.mode_seconds * float("nan")
    schedule = type(run.plan.schedule)(run.plan.schedule.assignments[:1])
    store.add_run(
        replace(
            run,
            graph=replace(run.graph, mode_seconds=unknown),
            plan=replace(run.plan, schedule=schedule),
            tasks=run.tasks[:1],
        )
    )
    shown = invoke("why", "last", "load")
    assert shown.code == 0
    assert "on w0 (fast), 0 s to 1.50 s" in shown.out
    assert "other workers are left out: " in shown.err
    assert "'fit'" in shown.err


def test_an_unknown_task_names_those_that_are_near(invoke: Invoke, planned: ScheduleStore) -> None:
    failed = invoke("why", "last", "lod")
    assert failed.code == 1
    assert "there is no task 'lod' in run aaaaaaaa of 'pipeline'; near it: 'load'" in failed.err
    like_none = invoke("why", "last", "zzz")
    assert (
        "there is no task 'zzz' in run aaaaaaaa of 'pipeline'; there are: 'load'" in like_none.err
    )


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_names_are_only_text_and_the_lines_fit(
    invoke: Invoke, store: ScheduleStore, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    run = a_run(flow=HOSTILE[0], tasks=("load", "fit"))
    odd = replace(run.tasks[1], status=HOSTILE[0])
    store.add_run(replace(run, tasks=(run.tasks[0], odd), reason=HOSTILE[1]))
    monkeypatch.setenv("COLUMNS", columns)
    shown = invoke("why", "last", "fit")
    assert shown.code == 0
    assert "[31m<script>alert(1)</script>[red]" in shown.out.replace("\n", "")
    assert "\x1b" not in shown.out + shown.err
    assert "\u202e" not in shown.out + shown.err
    body = shown.out.splitlines()[2:]
    assert all(len(line) <= int(columns) for line in body)


@pytest.mark.parametrize(
    ("binding", "sentence"),
    [
        (Binding("start"), "it starts with the run"),
        (
            Binding("worker", "a", "x", since=2.0),
            "a keeps its worker busy until 3.00 s; all else was ready 1.00 s sooner",
        ),
        (
            Binding("sending", "a", "x", since=3.0),
            "its worker is busy with sending the output of a until 3.00 s",
        ),
        (Binding("resource", "a", "x", "GPU", 3.0), "a has the GPU of its worker until 3.00 s"),
        (
            Binding("transfer", "a", "x", since=3.0),
            "it needs the output of a, which comes from x by 3.00 s",
        ),
        (Binding("release", since=3.0), "it may not start before its release at 3.00 s"),
    ],
)
def test_each_reason_is_a_sentence(binding: Binding, sentence: str) -> None:
    assert because(binding, 3.0) == sentence
