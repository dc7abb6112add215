"""`orchestrator diff`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from orchestrator_core.store.sql import ScheduleStore
from tests.cli.conftest import Invoke, a_run


@pytest.fixture
def two(store: ScheduleStore) -> ScheduleStore:
    """load takes 1.6 s, then 2.6 s; all else happens a second later."""
    before = a_run("a" * 32, started_at=1.0, seconds=3.2)
    load, fit = before.tasks
    slower = (
        replace(load, end=2.6),
        replace(fit, start=2.6, end=4.2, worker="w1", worker_kind="slow"),
    )
    store.add_run(before)
    store.add_run(replace(before, run_id="b" * 32, started_at=2.0, seconds=4.2, tasks=slower))
    return store


def test_what_made_the_difference_comes_first(invoke: Invoke, two: ScheduleStore) -> None:
    lines = invoke("diff", "last~1", "last").out.splitlines()
    assert lines[0].startswith("pipeline  aaaaaaaa → bbbbbbbb")
    assert lines[1] == "  1.00 s longer (+31.2 %), 100 % of the change by kind-load"
    text = [" ".join(line.split()) for line in lines]
    assert "took 3.20 s 4.20 s +31.2 %" in text
    assert "off by +6.7 % +40.0 % actual against predicted" in text
    assert "moved 1 1 fast → slow" in text
    assert "kind-load 1 1.60 s → 2.60 s +1.00 s +1.00 s 100 %" in text
    assert "load 1.60 s 2.60 s +1.00 s w0" in text
    assert "fit 1.60 s 1.60 s – w0 → w1" in text


def test_what_changed_the_other_way_is_not_to_blame(invoke: Invoke, two: ScheduleStore) -> None:
    """load takes 2 s less, which fit more than makes up for, by starting 1.5 s later and taking
    1.5 s longer: the most that changed is load."""
    before = a_run("c" * 32, started_at=3.0, seconds=4.6)
    load, fit = before.tasks
    two.add_run(replace(before, tasks=(replace(load, end=3.0), replace(fit, start=3.0, end=4.6))))
    after = (replace(load, end=1.0), replace(fit, start=2.5, end=5.6))
    two.add_run(replace(before, run_id="d" * 32, started_at=4.0, seconds=5.6, tasks=after))
    told = invoke("diff", "cccc", "dddd").out.splitlines()[1]
    assert told.startswith("  1.00 s longer (+21.7 %), 30 % of the change by ")
    assert not told.endswith("by kind-load")


def test_a_run_of_which_nothing_had_ended_was_shorter(invoke: Invoke, two: ScheduleStore) -> None:
    """As one that was interrupted at once."""
    two.add_run(replace(a_run("c" * 32, started_at=3.0), seconds=0.0, tasks=(), status="cancelled"))
    assert invoke("diff", "cccc", "bbbb").out.splitlines()[1].startswith("  4.20 s longer")
    assert invoke("diff", "bbbb", "cccc").out.splitlines()[1].startswith("  4.20 s shorter (−100")


def test_json_has_the_same_figures(invoke: Invoke, two: ScheduleStore) -> None:
    told = json.loads(invoke("diff", "aaaa", "bbbb", "--json").out)
    assert told["seconds"] == pytest.approx(1.0)
    assert (told["moved"], told["routes"]) == (1, [["fast", "slow", 1]])
    assert (told["kinds"][0]["kind"], told["kinds"][0]["share"]) == ("kind-load", 1.0)
    assert told["changes"][0]["task"] == "load"


def test_a_run_with_itself(invoke: Invoke, two: ScheduleStore) -> None:
    shown = invoke("diff", "last", "last").out
    assert "took as long" in shown
    assert "tasks that changed most" not in shown


def test_runs_of_different_flows_are_refused_unless_asked_for(
    invoke: Invoke, two: ScheduleStore
) -> None:
    two.add_run(a_run("c" * 32, flow="other", tasks=("x",), started_at=3.0))
    refused = invoke("diff", "aaaa", "cccc")
    assert refused.code == 1
    assert "is of flow 'pipeline' and run cccccccc of 'other'" in refused.err
    assert "--anyway" in refused.err
    shown = invoke("diff", "aaaa", "cccc", "--anyway")
    assert shown.code == 0
    assert "1 added: x; 2 gone: load, fit" in " ".join(shown.out.split())
    assert "runs of different flows" in shown.err


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_names_are_only_text_and_the_lines_fit(
    invoke: Invoke, store: ScheduleStore, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    flow = "\x1b[31m<script>"
    tasks = ("[red]load" + "x" * 300, "</b>fit")
    store.add_run(a_run("a" * 32, flow=flow, tasks=tasks, started_at=1.0))
    slower = replace(a_run("b" * 32, flow=flow, tasks=tasks, started_at=2.0))
    last = replace(slower.tasks[1], end=9.0, worker="\x07w\x1b[2J")
    store.add_run(replace(slower, tasks=(slower.tasks[0], last), seconds=9.0))
    monkeypatch.setenv("COLUMNS", columns)
    shown = invoke("diff", "last~1", "last")
    assert shown.code == 0
    assert "</b>fit" in shown.out
    assert not {"\x1b", "\x07"} & set(shown.out)
    assert all(len(line) <= int(columns) for line in shown.out.splitlines()[2:])
