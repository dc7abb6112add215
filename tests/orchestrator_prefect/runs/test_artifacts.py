"""What people read: the plan before, the outcome after."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from orchestrator_core.execute.record import PlanRecord, RunRecord, TaskRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_prefect.runs.artifacts import (
    escaped,
    outcome_line,
    outcome_markdown,
    plan_markdown,
    seconds,
    slug,
)

PLAN = PlanRecord(
    schedule=Schedule(
        [
            Assignment("load-0", "small|1", 0.0, 2.0),
            Assignment("train-0", "big", 2.0, 10.0),
            Assignment("test-0", "big", 10.0, 11.0),
        ]
    ),
    predicted=11.0,
    lower_bound=10.0,
    bound_method="critical path",
    planner="cpsat",
    cache="hit",
    adopted=True,
    reason="saves 4 s",
    default_predicted=15.0,
    planning_seconds=0.05,
)


def run(plan: PlanRecord | None = PLAN) -> RunRecord:
    builder = TaskGraph.build()
    for name in ("load-0", "train-0", "test-0"):
        builder.task(name)
    return RunRecord(
        run_id="0" * 32,
        flow="<b>train</b>",
        started_at=0.0,
        seconds=14.0,
        mode="planned",
        reason="first run: observed",
        graph=builder.done(),
        cluster=Cluster([Worker("small|1"), Worker("big")]),
        graph_signature="",
        cluster_signature="",
        plan=plan,
        tasks=(
            TaskRecord("load-0", "load", "small|1", "k", 0.0, 2.1),
            TaskRecord("train-0", "train", "big", "k", 2.1, 13.1),
            TaskRecord("test-0", "test", "big", "k", 13.1, 14.0),
        ),
    )


def test_the_plan_says_when_it_ends_how_good_that_is_and_who_does_what() -> None:
    text = plan_markdown("train", PLAN)
    for line in (
        "# Plan of train",
        "Followed: saves 4 s.",
        "| forecast | 11 s |",
        "| forecast without a plan | 15 s |",
        "| proven bound | 10 s (critical path) |",
        "| gap | 10.0 % |",
        "| stored schedule | hit |",
        "| big | 2 | 9 s | 2 s | 11 s |",
        r"| small\|1 | 1 | 2 s | 0 s | 2 s |",
    ):
        assert line in text.splitlines(), line


def test_a_plan_without_a_proof_says_so() -> None:
    text = plan_markdown("train", replace(PLAN, lower_bound=0.0, adopted=False))
    assert "| gap | not known |" in text
    assert "Not followed: saves 4 s." in text


def test_the_outcome_shows_what_went_otherwise() -> None:
    text = outcome_markdown(run())
    assert "# Outcome of &lt;b&gt;train&lt;/b&gt;" in text
    assert (
        "3 tasks on 2 workers in 14 s; forecast 11 s, proven bound 10 s at the durations expected."
        in text
    )
    surprises = text.split("Furthest from the plan:")[1].strip().splitlines()[2:]
    assert surprises[0] == "| train-0 | big | big | 8 s | 11 s |"


def test_a_run_that_was_left_to_dask_is_held_against_what_that_was_to_take() -> None:
    declined = replace(PLAN, adopted=False)
    text = "3 tasks on 2 workers in 14 s; left to Dask, forecast 15 s"
    assert outcome_line(run(declined)).startswith(text)
    assert "| forecast with the plan | 11 s |" in outcome_markdown(run(declined))
    unknown = replace(declined, default_predicted=None)
    assert "left to Dask, forecast 11 s" in outcome_line(run(unknown))


def test_a_forecast_below_the_bound_says_that_tasks_used_to_take_less() -> None:
    sooner = replace(PLAN, adopted=False, default_predicted=9.0)
    line = outcome_line(run(sooner))
    said = "forecast 9 s, proven bound 10 s at the durations expected, which earlier runs undercut"
    assert line.endswith(said)


def test_a_run_whose_results_were_stored_says_so_beside_its_forecast() -> None:
    """Nobody could foresee it; 14 s beside a forecast of 60 s need not be a wrong forecast."""
    whole = run()
    stored = [replace(task, status="cached") for task in whole.tasks[:2]]
    line = outcome_line(replace(whole, tasks=(*stored, *whole.tasks[2:])))
    assert line.startswith("3 tasks on 2 workers in 14 s (2 of them had stored results); forecast")


def test_a_run_that_was_cancelled_is_called_so() -> None:
    """A forecast of the whole stands beside it, which nobody would compare otherwise."""
    whole = run()
    cut = replace(whole, status="cancelled", tasks=whole.tasks[:1])
    line = outcome_line(cut)
    assert line.startswith(f"cancelled after 1 of {len(whole.graph)} tasks on ")
    assert "forecast for all of them 11 s" in line


@pytest.mark.parametrize("left", [0, 1])
def test_of_a_run_in_which_nothing_ended_there_are_no_figures(left: int) -> None:
    """A flow that waits for none of its tasks: "0 tasks in 0 s" was held against the forecast."""
    whole = run()
    tasks = tuple(replace(task, status="left") for task in whole.tasks[:left])
    line = outcome_line(replace(whole, tasks=tasks, seconds=0.0))
    assert line == "none of 3 tasks had ended when the flow did; first run: observed"


def test_a_forecast_that_was_made_in_parts_says_when() -> None:
    parted = run(replace(PLAN, parts=3))
    assert "forecast 11 s when the last of 3 parts was submitted, proven" in outcome_line(parted)
    assert "| forecast | 11 s when the last of 3 parts was submitted |" in outcome_markdown(parted)


def test_the_outcome_of_a_run_without_a_plan() -> None:
    assert outcome_line(run(None)) == "3 tasks on 2 workers in 14 s; first run: observed"
    alone = replace(run(None), tasks=run().tasks[:1], cluster=Cluster([Worker("big")]))
    assert outcome_line(alone).startswith("1 task on 1 worker in 14 s")
    assert "Furthest" not in outcome_markdown(run(None))


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a|b", r"a\|b"),
        ("<script>", "&lt;script&gt;"),
        ("two\nlines", "two lines"),
        ("[x](y) `z` *w* _v_ #u", r"\[x\](y) \`z\` \*w\* \_v\_ \#u"),
        ("a & b", "a &amp; b"),
    ],
)
def test_names_cannot_become_markup(text: str, safe: str) -> None:
    assert escaped(text) == safe


def test_flows_whose_names_have_other_letters_than_keys_have_artifacts_of_their_own() -> None:
    names = ("数据", "清洗", "Überblick", "berblick", "flow", "two  Words", "\ud800")
    keys = [slug(name) for name in names]
    assert len(set(keys[:5])) == 5
    assert keys[3:6] == ["berblick", "flow", "two-words"], "as they always were"
    assert all(re.fullmatch("[a-z0-9-]+", key) for key in keys), "as Prefect asks for it"


@pytest.mark.parametrize(("amount", "text"), [(0.0123456, "0.0123 s"), (12345.6, "12346 s")])
def test_durations_have_three_digits(amount: float, text: str) -> None:
    assert seconds(amount) == text
