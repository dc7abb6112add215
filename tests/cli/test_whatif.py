"""`orchestrator whatif`."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from orchestrator_core.cli.changes import Typed, change_of
from orchestrator_core.cli.whatif_view import said
from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.report.whatif import Change
from orchestrator_core.store.sql import ScheduleStore
from tests.cli.conftest import Invoke, a_run


@pytest.fixture
def planned(store: ScheduleStore) -> ScheduleStore:
    store.add_run(a_run())
    return store


def test_what_it_saves_and_what_nothing_can_save_more_than(
    invoke: Invoke, planned: ScheduleStore
) -> None:
    """A chain of 2 × 1.5 s; with fit twice as fast 1.5 + 0.75 s, which is the bound too."""
    shown = invoke("whatif", "last", "--faster", "kind-fit=2x", "--seconds", "0.2")
    lines = shown.out.splitlines()
    assert lines[0] == "pipeline  run aaaaaaaa, if kind-fit is 2× as fast"
    assert lines[1] == "  saves 25 %; no plan does better"
    text = " ".join(shown.out.split())
    assert "before 3.00 s as the run was planned; it took 3.30 s" in text
    assert "then 2.25 s" in text
    assert "reached: optimal" in text


def test_what_a_run_took_is_told_from_both_of_its_beginnings(
    invoke: Invoke, store: ScheduleStore
) -> None:
    """`orchestrator runs` counts from the first submission, this from the first task's start."""
    run = a_run()
    late = tuple(replace(task, start=task.start + 0.5, end=task.end + 0.5) for task in run.tasks)
    store.add_run(replace(run, tasks=late, seconds=run.seconds + 0.5))
    shown = invoke("whatif", "last", "--faster", "kind-fit=2x", "--seconds", "0.2").out
    text = " ".join(shown.split())
    assert "it took 3.30 s from its first start (3.80 s from its submission)" in text
    assert "by hint" not in text


def test_a_worker_that_goes_costs_and_one_that_cannot_help_saves_nothing(
    invoke: Invoke, planned: ScheduleStore
) -> None:
    costs = invoke("whatif", "last", "--remove", "w0", "--seconds", "0.2").out
    assert re.search(r"costs (9[5-9]|100) % more; no plan does better", costs)
    assert "w0" in next(line for line in costs.splitlines() if "gone" in line)
    nothing = invoke("whatif", "last", "--add", "fast:2", "--seconds", "0.2").out
    assert "saves nothing" in nothing
    assert sum("new" in line.split()[-1:] for line in nothing.splitlines()) == 2


def test_json_has_the_same_figures(invoke: Invoke, planned: ScheduleStore) -> None:
    told = json.loads(
        invoke("whatif", "last", "--add", "gpu:1:speed=4", "--seconds", "0.2", "--json").out
    )
    assert told["before"] == pytest.approx(3.0)
    assert told["saves"] == pytest.approx(1 - told["after"] / told["before"])
    assert told["saves_at_most"] == pytest.approx(1 - told["lower_bound"] / told["before"])
    assert told["saves"] <= told["saves_at_most"] + 1e-9
    assert told["change"]["add"] == [{"name": "new-gpu-1", "kind": "gpu", "speed": 4.0}]
    assert "never" not in told["notes"]
    assert len(told["notes"]) == 2


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("gpu:1:foo=4", "'foo' is no property of a worker, .* there are memory, price, speed"),
        ("fast:-1", "'-1' is neither a count from 1 to 1000 nor name=value; .* fast:2 or"),
        ("fast:two", "'two' is neither a count"),
        ("gpu:1.5", "'1.5' is neither a count .* gpu:2"),
        ("fast:1:speed", "'1:speed' is neither a count"),
        ("fast:0", "the count is 0; expected 1 to 1000"),
        ("gpu", "no worker of kind 'gpu' is known"),
    ],
)
def test_what_is_wrong_with_an_added_worker_is_what_is_named(added: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        change_of(Typed(add=(added,)), a_run())


def test_a_change_that_cannot_be_is_an_error(invoke: Invoke, planned: ScheduleStore) -> None:
    failed = invoke("whatif", "last", "--add", "gpu:1")
    assert failed.code == 1
    assert "or say its speed: --add gpu:1:speed=4" in failed.err
    gone = invoke("whatif", "last", "--remove", "w0", "--remove", "w1")
    assert "no worker is left" in gone.err


def test_a_task_that_could_run_nowhere_any_more_is_named(
    invoke: Invoke, store: ScheduleStore
) -> None:
    run = a_run()
    cluster = Cluster(
        [Worker("w0", kind="fast", speed=2.0), Worker("w1", kind="slow", memory=10.0)]
    )
    memory = run.graph.mode_memory + 100.0
    store.add_run(replace(run, cluster=cluster, graph=replace(run.graph, mode_memory=memory)))
    failed = invoke("whatif", "last", "--remove", "w0")
    assert failed.code == 1
    assert "'load'" in failed.err


def test_nothing_to_change_is_wrong_usage(invoke: Invoke, planned: ScheduleStore) -> None:
    failed = invoke("whatif", "last")
    assert failed.code == 2
    assert "say what is to be different: --add, --remove, --faster, --memory" in failed.err


def test_names_are_only_text(invoke: Invoke, store: ScheduleStore) -> None:
    store.add_run(a_run(flow="\x1b[31m[red]<b>", tasks=("load", "[bold]fit")))
    shown = invoke("whatif", "last", "--faster", "kind-[bold]fit=2x", "--seconds", "0.1")
    assert shown.code == 0
    assert "[31m[red]<b>" in shown.out
    assert "kind-[bold]fit is 2× as fast" in shown.out
    assert "\x1b" not in shown.out


def test_a_change_in_words() -> None:
    change = Change(
        add=(Worker("a", kind="gpu"), Worker("b", kind="gpu"), Worker("c", kind="cpu")),
        remove=("w1", "w2"),
        faster={"ml.train": 2.0},
        memory=1.5,
    )
    assert said(change) == (
        "2 gpu are added, 1 cpu is added, w1, w2 are removed, train is 2× as fast "
        "and workers have 1.5× the memory"
    )
