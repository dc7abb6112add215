"""The whole answer about one task: plan, outcome, names."""

from __future__ import annotations

from dataclasses import replace

import pytest

import orchestrator_core as oc
from orchestrator_core.errors import InvalidInput
from orchestrator_core.report.why import why
from orchestrator_core.report.why.answer import task_named
from orchestrator_core.report.why.binding import Binding
from tests.report.runs import two_worker_run, wide_run


def test_a_task_that_waited_for_its_input_and_was_critical():
    answer = why(two_worker_run(), "train", None)
    plan, ran = answer.planned, answer.ran
    assert (plan.worker, plan.start, plan.end, plan.slack, plan.critical) == ("slow", 3, 6, 0, True)
    assert plan.binding == Binding("transfer", "load", "fast", since=0)
    assert (ran.worker, ran.start, ran.waited_for, ran.because) == (
        "slow",
        1.1 * 3,
        "load",
        "input",
    )
    assert (ran.idle, ran.critical) == (pytest.approx(1.1), True)
    assert (answer.adopted, answer.makespan) == (True, 6.0)


def test_a_task_that_could_have_waited():
    """clean ends at 3, the plan at 6: 3 s."""
    answer = why(two_worker_run(), "clean", None)
    assert (answer.planned.slack, answer.planned.critical) == (3.0, False)
    assert answer.planned.binding == Binding("worker", "load", "fast", since=0)
    assert (answer.ran.waited_for, answer.ran.because, answer.ran.critical) == (
        "load",
        "worker",
        False,
    )


def test_a_run_without_a_plan_tells_what_happened():
    answer = why(wide_run(4, 2), "a task with a rather long name 3", None)
    assert (answer.planned, answer.options, answer.makespan) == (None, None, None)
    assert answer.ran.waited_for == "a task with a rather long name 1"


def test_a_task_that_never_ran():
    run = two_worker_run()
    answer = why(replace(run, tasks=run.tasks[:1]), "train", None)
    assert answer.ran is None
    assert answer.planned is not None


def test_the_last_attempt_counts():
    run = two_worker_run()
    failed = replace(run.tasks[2], start=2.5, end=3.0, status="failed")
    answer = why(replace(run, tasks=(*run.tasks, failed)), "train", None)
    assert (answer.ran.status, answer.ran.start) == ("ok", 1.1 * 3)


def test_an_attempt_waited_for_the_one_before_it():
    run = two_worker_run()
    first = replace(run.tasks[2], start=2.5, end=3.2, status="failed")
    again = replace(run.tasks[2], attempt=2)
    ran = why(replace(run, tasks=(*run.tasks[:2], first, again)), "train", None).ran
    assert (ran.waited_for, ran.because, ran.critical) == ("train", "worker", True)
    assert ran.idle == pytest.approx(3.3 - 3.2)


def test_a_plan_over_part_of_the_graph_is_told_as_far_as_it_goes():
    run = two_worker_run()
    part = oc.Schedule([oc.Assignment("load", "fast", 0.0, 2.0)])
    run = replace(run, plan=replace(run.plan, schedule=part))
    assert why(run, "train", None).planned is None
    assert why(run, "load", None).planned.slack == 0


def test_a_plan_on_workers_that_are_gone_is_not_told():
    run = two_worker_run()
    away = oc.Schedule([oc.Assignment("load", "elsewhere", 0.0, 2.0)])
    run = replace(run, plan=replace(run.plan, schedule=away))
    assert why(run, "load", None).planned is None


def test_a_task_is_found_by_its_name_or_how_it_begins():
    run = two_worker_run()
    assert task_named(run, "train") == task_named(run, "tr") == "train"
    with pytest.raises(InvalidInput, match=r"no task 'trian' in run 01234567.*near it: 'train'"):
        task_named(run, "trian")
    with pytest.raises(InvalidInput, match="4 tasks begin with 'a task'"):
        task_named(wide_run(4, 2), "a task")
