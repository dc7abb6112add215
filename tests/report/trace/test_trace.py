"""The trace of a run is one that Chrome and Perfetto can read, and says what the run says."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from dataclasses import replace

import pytest

from orchestrator_core.report.trace import FORMAT, trace_of, write_trace
from tests.report.runs import two_worker_run, wide_run
from tests.report.test_page import PAYLOADS

NEEDED = {
    "X": {"name", "cat", "pid", "tid", "ts", "dur", "args"},
    "M": {"name", "pid", "tid", "ts", "args"},
    "C": {"name", "pid", "tid", "ts", "args"},
    "s": {"name", "cat", "id", "pid", "tid", "ts"},
    "f": {"name", "cat", "id", "pid", "tid", "ts", "bp"},
}
"""What the Trace Event Format asks of each phase."""


def events(trace, phase):
    return [event for event in trace["traceEvents"] if event["ph"] == phase]


def check(trace):
    """Every rule of the format that a trace of ours can break."""
    assert json.loads(json.dumps(trace, allow_nan=False)) == trace
    listed = trace["traceEvents"]
    moments = [event["ts"] for event in listed if event["ph"] != "M"]
    assert moments == sorted(moments)
    for event in listed:
        assert NEEDED[event["ph"]] <= set(event)
        assert all(isinstance(event[key], int) for key in ("pid", "tid", "ts"))
        assert isinstance(event["name"], str)
        assert event["ph"] != "X" or (isinstance(event["dur"], int) and event["dur"] >= 0)
    _check_slices(trace)
    _check_arrows(trace)


def _check_slices(trace):
    """Each stands in a named thread of a named process, and none overlaps another there."""
    rows = defaultdict(list)
    for event in events(trace, "X"):
        rows[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    titles = {(e["name"], e["pid"], e["tid"]) for e in events(trace, "M")}
    for (process, thread), spans in rows.items():
        assert ("process_name", process, 0) in titles
        assert ("thread_name", process, thread) in titles
        spans.sort()
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


def _check_arrows(trace):
    """Each begins and ends inside a slice, and no number is used twice."""
    spans = defaultdict(list)
    for e in events(trace, "X"):
        spans[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    for phase in "sf":
        ids = [event["id"] for event in events(trace, phase)]
        assert len(ids) == len(set(ids))
        for e in events(trace, phase):
            assert any(a <= e["ts"] <= b for a, b in spans[e["pid"], e["tid"]])
    assert {e["id"] for e in events(trace, "s")} == {e["id"] for e in events(trace, "f")}


def test_a_task_stands_where_and_when_it_ran_beside_its_promise():
    trace = trace_of(two_worker_run())
    check(trace)
    (train, hoped) = [e for e in events(trace, "X") if e["name"] == "train"]
    if train["pid"] > hoped["pid"]:
        train, hoped = hoped, train
    assert (train["ts"], train["dur"]) == (3_300_000, 3_300_000)
    assert (hoped["ts"], hoped["dur"]) == (3_000_000, 3_000_000)
    args = train["args"]
    assert (args["planned_worker"], args["planned_start_s"], args["planned_end_s"]) == (
        "slow",
        3.0,
        6.0,
    )
    assert args["late_s"] == pytest.approx(0.6)
    assert (args["status"], args["attempt"]) == ("ok", 1)


def test_workers_come_first_then_those_of_the_plan():
    trace = trace_of(two_worker_run())
    titles = {
        e["pid"]: e["args"]["name"] for e in events(trace, "M") if e["name"] == "process_name"
    }
    assert [titles[pid] for pid in sorted(titles)] == [
        "tasks at a time",
        "fast",
        "slow",
        "plan: fast",
        "plan: slow",
    ]


def test_what_is_sent_is_a_slice_of_its_receiver_and_an_arrow_from_its_maker():
    run = two_worker_run()
    late = replace(run.tasks[2], transfer_seconds=1.1)
    trace = trace_of(replace(run, tasks=(*run.tasks[:2], late)))
    check(trace)
    sent = [e for e in events(trace, "X") if e["cat"] == "transfer"]
    assert [(e["name"], e["ts"], e["dur"]) for e in sent] == [
        ("output of load", 2_000_000, 1_000_000),
        ("inputs of train", 2_200_000, 1_100_000),
    ]
    assert sent[0]["args"] == {"source": "fast", "bytes": 1e6}
    assert [e["ts"] for e in events(trace, "s")] == [2_199_999]
    assert [e["ts"] for e in events(trace, "f")] == [3_300_000]


def test_the_counter_tells_how_many_run():
    run = two_worker_run()
    beside = replace(run.tasks[1], start=0.5, end=1.0)
    trace = trace_of(replace(run, tasks=(run.tasks[0], beside, run.tasks[2]), plan=None))
    check(trace)
    told = [(e["ts"], e["args"]["tasks"]) for e in events(trace, "C")]
    assert told == [
        (0, 1),
        (500_000, 2),
        (1_000_000, 1),
        (2_200_000, 0),
        (3_300_000, 1),
        (6_600_000, 0),
    ]


def test_tasks_side_by_side_get_threads_of_their_own_and_jitter_of_clocks_does_not():
    run = two_worker_run()
    first, second, third = run.tasks
    beside = replace(second, start=1.0)
    trace = trace_of(replace(run, tasks=(first, beside, third), plan=None))
    assert {e["tid"] for e in events(trace, "X") if e["pid"] == 2} == {1, 2}
    early = replace(second, start=first.end - 0.01)
    trace = trace_of(replace(run, tasks=(first, early, third), plan=None))
    check(trace)
    assert {e["tid"] for e in events(trace, "X") if e["pid"] == 2} == {1}


def test_what_is_not_known_is_left_out():
    run = two_worker_run()
    odd = replace(run.tasks[0], nbytes=math.nan, memory_peak=None)
    trace = trace_of(replace(run, tasks=(odd, *run.tasks[1:])))
    check(trace)
    (load, *_) = [e for e in events(trace, "X") if e["name"] == "load" and "status" in e["args"]]
    assert not {"bytes", "memory_peak"} & set(load["args"])


def test_a_second_attempt_is_a_slice_of_its_own():
    run = two_worker_run()
    failed = replace(run.tasks[0], end=1.0, status="failed")
    again = replace(run.tasks[0], start=1.0, attempt=2)
    trace = trace_of(replace(run, tasks=(failed, again, *run.tasks[1:])))
    check(trace)
    both = [e["args"] for e in events(trace, "X") if e["name"] == "load" and "status" in e["args"]]
    assert [(args["status"], args["attempt"]) for args in both] == [("failed", 1), ("ok", 2)]
    assert both[1]["planned_worker"] == "fast"


@pytest.mark.parametrize("payload", [*PAYLOADS, "\x1b[31m", "\u202e", "x" * 5000])
def test_names_are_text_only(payload, tmp_path):
    path = write_trace(two_worker_run(payload, "load"), tmp_path / "t.json")
    text = path.read_bytes()
    assert text.isascii()
    assert b"\x1b" not in text
    assert json.loads(text)["otherData"]["flow"] == payload


def test_ten_thousand_tasks_are_all_there(tmp_path):
    path = write_trace(wide_run(10_000, 16), tmp_path / "t.json")
    trace = json.loads(path.read_bytes())
    check(trace)
    assert len(events(trace, "X")) == 10_000
    assert trace["otherData"]["format"] == FORMAT
    assert path.stat().st_size < 5_000_000
