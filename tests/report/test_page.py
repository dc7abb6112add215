"""The page of a run: its figures are right, it is closed to the outside, and it stays small."""

from __future__ import annotations

import html.parser
import json
from dataclasses import replace

import pytest

from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_core.report import render, write
from orchestrator_core.report.gantt import short_kind, short_kinds
from tests.report.runs import two_worker_run, wide_run

PAYLOADS = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "'\"><svg/onload=alert(1)>",
    "{{ 7 * 7 }}",
    "javascript:alert(1)//",
    "<!--<script>",
    "'; DROP TABLE runs; --",
    "../../etc/passwd",
    "$(touch /tmp/x)",
]


class _Page(html.parser.HTMLParser):
    """Counts elements and collects whatever could run or load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: dict[str, int] = {}
        self.risky: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements[tag] = self.elements.get(tag, 0) + 1
        self.risky += [
            (tag, name)
            for name, _ in attributes
            if name.startswith("on") or name in ("src", "href")
        ]


def gantt(text):
    return json.loads(text.split('id="data">', 1)[1].split("</script>", 1)[0])


def test_the_cards_show_promise_proof_and_outcome():
    text = render(two_worker_run())
    for figure in ("6.60 s", "6.00 s", "5.00 s", "20.0 %", "9.00 s", "actual +10.0 %", "1.50"):
        assert figure in text


def test_a_forecast_is_not_compared_with_a_run_that_was_cut_short():
    run = two_worker_run()
    cut = replace(run, status="cancelled", tasks=run.tasks[:1], seconds=1.0)
    text = render(cut)
    assert f"for all {len(run.graph)} tasks" in text
    assert ">actual " not in text
    assert cut.error is None
    assert run.error == pytest.approx(0.1)


def test_a_run_beside_others_says_so():
    run = two_worker_run()
    threads = sum(worker.threads for worker in run.cluster.workers)
    shared = render(replace(run, others=0.4 * threads * run.seconds))
    assert "tasks that are not its own had 40% of the workers" in shared
    assert "for a run by itself" in shared
    assert ">actual " not in shared
    assert "not its own" not in render(run)


def test_a_bound_that_proves_nothing_is_not_shown():
    run = two_worker_run()
    text = render(replace(run, plan=replace(run.plan, lower_bound=0.0, bound_method="none")))
    assert "no plan can beat" in render(run)
    assert "no plan can beat</" not in text
    assert "proven gap" not in text
    assert gantt(text)["bound"] is None


def test_a_bound_that_earlier_runs_undercut_is_not_said_to_be_unbeatable():
    """The forecast is what Dask alone took, which was less than its tasks were believed to take."""
    run = two_worker_run()
    left = replace(run.plan, adopted=False, default_predicted=run.plan.lower_bound / 2)
    text = render(replace(run, plan=left))
    assert "which earlier runs undercut" in text
    assert "no plan can beat</" not in text
    assert "proven gap" not in text


def test_a_plan_for_another_aim_may_take_longer_than_dask_and_says_so():
    run = two_worker_run()
    for factor, said in ((2.0, "the plan is 2.00× as fast"), (0.5, "the plan takes 2.00× as long")):
        alone = replace(run.plan, default_predicted=factor * run.plan.predicted)
        assert f"simulated; {said}" in render(replace(run, plan=alone))


def test_a_worker_that_joined_later_is_among_the_workers():
    run = two_worker_run()
    late = replace(run.tasks[0], worker="joined", worker_kind="kind-of-joined")
    text = render(replace(run, tasks=(late, *run.tasks[1:])))
    assert "<td>joined</td><td>kind-of-joined</td>" in text
    assert "kind-of-joined" not in render(run)


def test_a_promise_that_was_made_in_parts_says_when():
    run = two_worker_run()
    assert "predicted as it began" in render(run)
    parted = replace(run, plan=replace(run.plan, parts=3))
    assert "predicted as the last of 3 parts began" in render(parted)


def test_bars_and_transfers_carry_the_times_of_plan_and_run():
    data = gantt(render(two_worker_run()))
    assert data["workers"] == [["fast", "fast"], ["slow", "slow"]]
    assert [bar[4:6] for bar in data["planned"]] == [[0, 2], [2, 3], [3, 6]]
    assert [bar[4:6] for bar in data["actual"]] == [[0, 2.2], [2.2, 3.3], [3.3, 6.6]]
    assert data["plannedTransfers"] == [[0, 1, 2.0, 3.0]]
    assert (data["bound"], data["predicted"]) == (5.0, 6.0)


def test_a_worker_is_planned_to_be_busy_for_no_more_than_all_of_the_plan():
    """Earlier runs took a third of what was simulated, so 2 s were promised of bars of 6."""
    run = two_worker_run()
    text = render(replace(run, plan=replace(run.plan, predicted=2.0)))
    assert "150.0 %" not in text
    assert text.count("50.0 %") >= 2, "each worker has 3 s to do"


def test_a_task_of_several_threads_keeps_them_busy_but_for_its_pauses():
    """Of two threads for 10 s: `wide` has both for 4 s, paused from 2 to 5; `thin` one for 1 s."""
    graph = TaskGraph.build()
    graph.task("wide", threads=2, checkpoints=[0.5])
    graph.task("thin")
    pieces = ((0.0, 2.0), (5.0, 7.0))
    plan = Schedule(
        [Assignment("wide", "w", 0.0, 7.0, segments=pieces), Assignment("thin", "w", 9.0, 10.0)]
    )
    cluster = Cluster([Worker("w", threads=2)])
    run = two_worker_run()
    run = replace(
        run, graph=graph.done(), cluster=cluster, plan=replace(run.plan, schedule=plan), tasks=()
    )
    text = render(run)
    assert "45.0 %" in text
    assert sorted(bar[4:6] for bar in gantt(text)["planned"]) == [[0, 2], [5, 7], [9, 10]]


def test_the_line_of_the_forecast_is_that_of_what_was_carried_out():
    """Left to Dask, a run is expected to take as long as Dask does: here 9 s, by plan 6 s."""
    run = two_worker_run()
    declined = replace(run, plan=replace(run.plan, adopted=False))
    assert gantt(render(declined))["predicted"] == 9.0


def test_the_critical_path_is_marked_in_the_drawing_and_told_in_the_table():
    text = render(two_worker_run())
    critical = {bar[0] for bar in gantt(text)["actual"] if bar[6]}
    assert {gantt(text)["tasks"][i] for i in critical} == {"load", "train"}
    assert "the output of load" in text


def test_an_observed_run_without_plan_has_a_page():
    data = gantt(render(replace(two_worker_run(), plan=None)))
    assert (data["planned"], data["predicted"]) == ([], None)


def test_a_forecast_that_has_not_run_has_a_page():
    text = render(replace(two_worker_run(), tasks=(), seconds=0.0))
    assert "<h2>Planned</h2>" in text
    assert gantt(text)["actual"] == []


@pytest.mark.parametrize("payload", PAYLOADS)
def test_names_reach_the_page_as_text_only(payload):
    harmless = _Page(render(two_worker_run("flow", "load")))
    hostile = _Page(render(two_worker_run(payload, payload)))
    assert hostile.elements == harmless.elements
    assert hostile.risky == harmless.risky == []
    assert payload in gantt(render(two_worker_run(payload, payload)))["tasks"]


def test_the_page_forbids_everything_but_its_own_script():
    text = render(two_worker_run())
    assert "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" in text
    assert "http" not in text.replace("http-equiv", "")


def test_ten_thousand_tasks_stay_below_two_megabytes():
    text = render(wide_run(10_000, 16))
    assert len(text.encode()) < 2_000_000
    assert len(gantt(text)["actual"]) == 10_000


def test_tasks_that_run_side_by_side_get_rows_of_their_own():
    run = two_worker_run()
    beside = replace(run.tasks[1], start=0.0, end=1.0)
    data = gantt(render(replace(run, tasks=(run.tasks[0], beside, run.tasks[2]))))
    assert sorted(bar[3] for bar in data["actual"] if bar[2] == 0) == [0, 1]


@pytest.mark.parametrize("moment", [-1e12, 1e18, float("inf"), float("nan")])
def test_a_moment_that_no_calendar_has_is_a_dash(moment):
    assert "</code> · – · 3 tasks" in render(replace(two_worker_run(), started_at=moment))


def test_write_gives_the_absolute_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert write(two_worker_run(), "r.html") == tmp_path / "r.html"
    assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("kind", "short"),
    [("etl.load", "load"), ("flow.py:train-0f3a9b7c", "train"), ("plain", "plain"), (".", ".")],
)
def test_kinds_are_named_as_people_say_them(kind, short):
    assert short_kind(kind) == short


def test_kinds_that_would_read_the_same_are_named_in_full():
    assert short_kinds(["a.load", "b.load", "c.fit"]) == ["a.load", "b.load", "fit"]


def test_the_table_of_kinds_tells_them_apart_and_counts_those_left_out():
    """Of 45 kinds of one task each 40 have a row; the two that take longest would read the same."""
    run = wide_run(45, 45)
    tasks = [replace(task, kind=f"kind {i}") for i, task in enumerate(run.tasks)]
    tasks[:2] = [replace(tasks[i], kind=f"{where}.load", end=2.0) for i, where in enumerate("ab")]
    text = render(replace(run, tasks=tuple(tasks)))
    rows = text.split("<h2>Kinds of tasks</h2>")[1].split("</section>")[0]
    assert rows.count("<tr><td>") == 40
    assert "<td>a.load</td>" in rows
    assert "<td>b.load</td>" in rows
    assert "and 5 more with less work" in rows
