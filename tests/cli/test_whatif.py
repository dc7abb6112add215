"""`orchestrator whatif`."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from orchestrator_core.cli.whatif_view import said
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
