"""Whatever flows, tasks and workers are called: no command lets it steer the terminal."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator_core.execute.record import RunRecord
from orchestrator_core.store.sql import ScheduleStore
from tests.cli.conftest import Invoke, Outcome
from tests.payloads import PAYLOADS, TERMINAL, UNICODE
from tests.report.hostile import NAMES, run_of
from tests.store.records import stored

OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[1A|\r(?=\x1b\[)")
"""What the command line itself says to a terminal: colours, and its spinner."""

TURNING = set(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"
)


def steers(text: str) -> list[str]:
    """Characters that a terminal would obey; without colours, every one of them."""
    plain = OWN.sub("", text) if os.environ.get("FORCE_COLOR") else text
    return [c for c in plain if (ord(c) < 0x20 and c != "\n") or 0x7F <= ord(c) < 0xA0] + [
        c for c in plain if c in TURNING
    ]


def short_of(run: RunRecord) -> RunRecord:
    """The same run, unplanned, so that nothing is planned to explain it."""
    return replace(run, plan=None, mode="observed")


@pytest.fixture(params=["plain", "colours"])
def screen(request: pytest.FixtureRequest, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "colours":
        monkeypatch.setenv("FORCE_COLOR", "1")


def fine(shown: Outcome) -> str:
    assert shown.code == 0, shown.err
    assert steers(shown.out + shown.err) == []
    return shown.out


def test_lists_of_runs_and_schedules(invoke: Invoke, store: ScheduleStore, screen: None) -> None:
    for number, payload in enumerate(PAYLOADS):
        run = run_of(NAMES[:24], payload, f"{number:032x}")
        store.add_run(replace(run, status=payload, mode=payload))
    store.put(stored(flow=PAYLOADS[0], planner=TERMINAL[0]))
    fine(invoke("runs", "--limit", 1000))
    fine(invoke("schedules"))
    listed = json.loads(invoke("runs", "--limit", 1000, "--json").out)
    assert {run["flow"] for run in listed} == {payload.replace("\0", "") for payload in PAYLOADS}


@pytest.mark.parametrize("flow", [*TERMINAL[:8], *UNICODE[:6]])
def test_flows_that_are_asked_for_and_not_there(invoke: Invoke, flow: str) -> None:
    fine(invoke("runs", "--flow", flow))
    fine(invoke("schedules", "--flow", flow))
    failed = invoke("report", flow)
    assert failed.code == 1
    assert steers(failed.err) == []


def test_one_task_after_another(invoke: Invoke, store: ScheduleStore, screen: None) -> None:
    """Each is asked for by its own name, and told about beside the names of others."""
    store.add_run(short_of(run_of(NAMES, TERMINAL[0])))
    for name in NAMES[::6]:
        if not name.startswith("-"):
            fine(invoke("why", "last", name))
    unknown = invoke("why", "last", UNICODE[0] + "?")
    assert unknown.code == 1
    assert steers(unknown.err) == []


def test_two_runs(invoke: Invoke, store: ScheduleStore, screen: None) -> None:
    first = run_of(NAMES, TERMINAL[0], "1" * 32)
    slower = tuple(replace(t, end=t.end + 0.1 * i) for i, t in enumerate(first.tasks))
    store.add_run(replace(first, started_at=1.0))
    second = run_of(NAMES[::-1], UNICODE[0], "2" * 32)
    store.add_run(replace(second, tasks=slower, cluster=first.cluster, started_at=2.0))
    fine(invoke("diff", "last~1", "last", "--anyway"))


def test_no_name_is_a_place_to_write_to(
    invoke: Invoke, store: ScheduleStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "a" / "b" / "c"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    before = set(tmp_path.rglob("*"))
    for number, flow in enumerate(
        ("../../owned", "/tmp/owned.html", "..\\owned", "$(touch owned)")
    ):
        store.add_run(run_of(NAMES[:24], flow, f"{number:032x}"))
        fine(invoke("report", f"{number:032x}"))
        fine(invoke("trace", f"{number:032x}"))
    left = {path.name for path in set(tmp_path.rglob("*")) - before if path.is_file()}
    written = {name for name in left if not name.startswith("schedules.db")}
    assert written == {"orchestrator-00000000.html", "orchestrator-00000000.trace.json"}
