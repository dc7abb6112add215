"""`orchestrator plan`: a schedule and its proof, and nothing is run."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator_core.cli import plan_view
from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.record import Burst
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.origin import place_of
from orchestrator_core.store.sql import ScheduleStore
from tests.cli.conftest import Invoke, Outcome, a_run

KEYS = {
    "name",
    "tasks",
    "predicted_s",
    "lead_s",
    "makespan_s",
    "lower_bound_s",
    "bound_method",
    "gap",
    "status",
    "planner",
    "reason",
    "seconds",
    "cache",
    "notes",
    "workers",
    "assignments",
}

JOB_SHOP = """2 2
0 3 1 2
1 2 0 4
"""

FLOW = """
class Flow:
    name = "pipeline"
    task_runner = None
    def __call__(self): raise SystemExit("the flow must not run")

pipeline = Flow()
"""

REAL_FLOW = "from prefect import flow\n@flow\ndef pipeline(): ..."


@pytest.fixture
def diamond(tmp_path: Path) -> Path:
    """a -> b, c -> d; 1, 4, 4, 1 s at speed 1: 6 s on two equal workers is optimal, since the
    longest chain takes as long."""
    builder = TaskGraph.build()
    builder.task("a", kind="start", seconds=1.0)
    builder.task("b", kind="work", seconds=4.0, after=["a"])
    builder.task("c", kind="work", seconds=4.0, after=["a"])
    builder.task("d", kind="stop", seconds=1.0, after=["b", "c"])
    path = tmp_path / "diamond.json"
    path.write_bytes(builder.done().to_json())
    return path


def parsed(outcome: Outcome) -> dict[str, object]:
    assert (outcome.code, outcome.err) == (0, "")
    found: dict[str, object] = json.loads(outcome.out)
    return found


def test_json_has_its_keys_and_the_optimum(invoke: Invoke, diamond: Path) -> None:
    found = parsed(invoke("plan", diamond, "--workers", "2", "--json"))
    assert set(found) == KEYS
    assert found["predicted_s"] == pytest.approx(6.0)
    assert found["lower_bound_s"] == pytest.approx(6.0)
    assert found["status"] == "optimal"
    assert found["name"] == "diamond"
    assert [row["task"] for row in found["assignments"]].count("a") == 1  # type: ignore[attr-defined]
    assert {row["kind"] for row in found["workers"]} == {"worker"}  # type: ignore[attr-defined]


def test_the_screen_says_how_long_how_proven_and_who(invoke: Invoke, diamond: Path) -> None:
    shown = invoke("plan", diamond, "--workers", "fast:speed=2", "--workers", "slow:count=1")
    assert shown.code == 0
    assert "4 tasks on 2 workers" in shown.out
    assert "nothing executed" in shown.out
    for word in ("predicted", "bound", "gap", "planner", "busy", "last end", "█", "■ work"):
        assert word in shown.out
    assert max(map(len, shown.out.splitlines())) <= 150


def test_without_machines_four_equal_workers_are_assumed_and_it_says_so(
    invoke: Invoke, diamond: Path
) -> None:
    shown = invoke("plan", diamond)
    assert "4 tasks on 4 workers" in shown.out
    assert "4 equal workers are assumed" in shown.err
    (note,) = json.loads(invoke("plan", diamond, "--json").out)["notes"]
    assert "--workers" in note


def test_the_machines_of_the_file_are_used(invoke: Invoke, tmp_path: Path) -> None:
    """Two jobs on two machines: machine 0 needs 3 + 4 s; 7 s are reached."""
    path = tmp_path / "tiny.jsp"
    path.write_text(JOB_SHOP, encoding="utf-8")
    found = parsed(invoke("plan", path, "--json"))
    assert found["predicted_s"] == pytest.approx(7.0)
    assert found["notes"] == []


def test_a_pipe_is_read_once_for_its_graph_and_its_machines(invoke: Invoke) -> None:
    out, into = os.pipe()
    os.write(into, JOB_SHOP.encode())
    os.close(into)
    found = parsed(invoke("plan", f"/dev/fd/{out}", "--json"))
    os.close(out)
    assert found["predicted_s"] == pytest.approx(7.0)
    assert found["notes"] == []


def test_an_instance_is_planned_as_it_is(invoke: Invoke, tmp_path: Path) -> None:
    """t0 is quick on w0, t1 on w1."""
    path = tmp_path / "mine.json"
    path.write_bytes(Instance.from_arrays([[2.0, 9.0], [9.0, 3.0]], []).to_json())
    assert parsed(invoke("plan", path, "--json"))["predicted_s"] == pytest.approx(3.0)
    refused = invoke("plan", path, "--workers", "2")
    assert refused.code == 1
    assert "durations hold for its own workers" in refused.err


def test_links_make_transfers_dear(invoke: Invoke, diamond: Path) -> None:
    """With 100 s for each hop, one worker alone (10 s) is best."""
    found = parsed(invoke("plan", diamond, "--workers", "2", "--latency", "100s", "--json"))
    assert found["predicted_s"] == pytest.approx(10.0)


def test_a_cluster_from_a_file(invoke: Invoke, diamond: Path, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_bytes(Cluster([Worker("only", speed=2.0)]).to_json())
    found = parsed(invoke("plan", diamond, "--cluster", path, "--json"))
    assert found["predicted_s"] == pytest.approx(5.0)
    failed = invoke("plan", diamond, "--cluster", diamond)
    assert failed.code == 1
    assert str(diamond) in failed.err


def test_a_stored_schedule_is_found_again(invoke: Invoke, diamond: Path) -> None:
    first = parsed(invoke("plan", diamond, "--workers", "2", "--json"))
    again = parsed(invoke("plan", diamond, "--workers", "2", "--json"))
    assert (first["cache"], again["cache"]) == ("miss", "hit")
    assert again["predicted_s"] == first["predicted_s"]
    asked = parsed(invoke("plan", diamond, "--workers", "2", "--seconds", "0.5", "--json"))
    assert asked["planner"] == first["planner"], "nothing is better than the optimum"
    assert asked["predicted_s"] == pytest.approx(6.0)


def test_a_seed_that_is_given_plans_anew(invoke: Invoke, tmp_path: Path) -> None:
    """Tasks of 3, 3, 2, 2 and 2 s on two equal workers: longest first takes 7 s, the best 6."""
    builder = TaskGraph.build()
    for i, seconds in enumerate((3.0, 3.0, 2.0, 2.0, 2.0)):
        builder.task(f"t{i}", seconds=seconds)
    path = tmp_path / "five.json"
    path.write_bytes(builder.done().to_json())
    parsed(invoke("plan", path, "-w", "2", "--planner", "heft", "--json"))
    stored = parsed(invoke("plan", path, "-w", "2", "--json"))
    assert (stored["cache"], stored["makespan_s"]) == ("hit", pytest.approx(7.0))
    anew = parsed(invoke("plan", path, "-w", "2", "--seed", "0", "--json"))
    assert (anew["cache"] != "hit", anew["makespan_s"]) == (True, pytest.approx(6.0))


def test_one_planner_may_be_picked(invoke: Invoke, diamond: Path) -> None:
    found = parsed(invoke("plan", diamond, "-w", "2", "--planner", "heft", "--json"))
    assert found["planner"] == "heft"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workers", "4x1,2x2"], "does not begin with a kind of worker"),
        (["--workers", "fast:spede=4"], "did you mean 'speed'?"),
        (["--bandwidth", "quick"], "is not a size"),
        (["--latency", "long"], "is not a time"),
        (["--workers", "2", "--cluster", "c.json"], "not both"),
        (["--seconds", "-1"], "'--seconds'"),
        (["--seconds", "inf"], "it must be finite and >= 0"),
        (["--seconds", "nan"], "'--seconds'"),
        (["--seed", "-1"], "'--seed'"),
    ],
)
def test_wrong_usage_exits_with_2(
    invoke: Invoke, diamond: Path, words: list[str], message: str
) -> None:
    failed = invoke("plan", diamond, *words)
    assert (failed.code, failed.out) == (2, "")
    assert message in failed.err


def test_what_cannot_be_planned_is_one_line(invoke: Invoke, diamond: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.touch()
    broken = tmp_path / "broken.json"
    broken.write_text('{"format": "orchestrator.task-graph/1"', encoding="utf-8")
    for target, message in [
        (tmp_path / "missing.json", "there is no file"),
        (tmp_path, "is a directory"),
        (empty, "is empty"),
        (broken, str(broken)),
        ("no_such_module_at_all:flow", "there is no module"),
    ]:
        failed = invoke("plan", target)
        assert (failed.code, failed.out) == (1, "")
        assert message in failed.err
        assert len(failed.err.splitlines()) == 1


def test_an_unknown_planner_is_answered_with_those_there_are(invoke: Invoke, diamond: Path) -> None:
    failed = invoke("plan", diamond, "--planner", "magic")
    assert failed.code == 2, "wrong usage, said before anything is done"
    assert "magic" in failed.err
    assert "heft" in failed.err


def test_a_task_that_fits_nowhere_is_named(invoke: Invoke, tmp_path: Path) -> None:
    builder = TaskGraph.build()
    builder.task("embed", seconds=1.0, resources={"GPU": 2})
    path = tmp_path / "gpu.json"
    path.write_bytes(builder.done().to_json())
    failed = invoke("plan", path, "--workers", "box:GPU=1")
    assert failed.code == 1
    assert "embed" in failed.err
    assert "GPU" in failed.err
    assert invoke("plan", path, "--workers", "box:GPU=2").code == 0


def test_a_report_is_written_and_named(invoke: Invoke, diamond: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    shown = invoke("plan", diamond, "-w", "2", "-o", page)
    assert f"report: {page.as_uri()}" in shown.out
    assert "diamond" in page.read_text(encoding="utf-8")
    assert parsed(invoke("plan", diamond, "-w", "2", "-o", page, "--json"))["report"] == str(page)
    refused = invoke("plan", diamond, "-o", diamond)
    assert refused.code == 1
    assert diamond.read_bytes().startswith(b"{")


def test_a_flow_that_never_ran_must_run_once(
    invoke: Invoke, tmp_path: Path, store: ScheduleStore
) -> None:
    path = tmp_path / "my_flow.py"
    path.write_text(REAL_FLOW, encoding="utf-8")
    for i, flow in enumerate(("another", "pipelines", "rechunk-sum+x")):
        store.add_run(a_run(f"{i}" * 32, flow=flow))
    failed = invoke("plan", f"{path}:pipeline")
    assert (failed.code, failed.out) == (1, "")
    said = failed.err.splitlines()[-1]
    assert said.startswith("error: the flow 'pipeline' cannot be followed: ")
    assert "It has not finished a run yet, either: run it once with" in said
    assert "near its name, and stored: 'pipelines' [looked in " in said


def test_a_flow_that_ran_is_planned_from_what_was_learned(
    invoke: Invoke, tmp_path: Path, store: ScheduleStore
) -> None:
    """Both tasks took 1.6 s on the fast worker, one after the other."""
    path = tmp_path / "my_flow.py"
    path.write_text(FLOW, encoding="utf-8")
    store.add_run(a_run())
    found = json.loads(invoke("plan", f"{path}:pipeline", "--json").out)
    assert found["name"] == "pipeline"
    assert found["predicted_s"] == pytest.approx(3.2, rel=0.1)
    assert [worker["name"] for worker in found["workers"]] == ["w0", "w1"]
    assert "run aaaaaaaa" in found["notes"][0]


def test_another_flow_of_that_name_is_not_planned_instead(
    invoke: Invoke, tmp_path: Path, store: ScheduleStore
) -> None:
    path = tmp_path / "jobs" / "my_flow.py"
    path.parent.mkdir()
    path.write_text(REAL_FLOW, encoding="utf-8")
    origin = f"{place_of(str(path))}:pipeline"
    store.add_run(replace(a_run("b" * 32), started_at=9.0, origin="elsewhere/my_flow.py:pipeline"))
    store.add_run(replace(a_run("d" * 32), started_at=9.5))  # by Dask, of a function of that name
    assert "cannot be followed" in invoke("plan", f"{path}:pipeline").err
    store.add_run(replace(a_run("c" * 32), started_at=1.0, origin=origin))
    found = json.loads(invoke("plan", f"{path}:pipeline", "--json").out)
    assert "run cccccccc" in found["notes"][0]


def test_what_its_decorator_says_is_heeded_or_said(
    invoke: Invoke, tmp_path: Path, store: ScheduleStore
) -> None:
    """Its two tasks take 3.2 s on the two workers of its last run."""
    path = tmp_path / "my_flow.py"
    said = "deadline=2, objective='price', cluster_kwargs={'n_workers': 4}"
    path.write_text(f"@optimized_flow({said})\ndef pipeline(): ...", encoding="utf-8")
    store.add_run(replace(a_run(), origin=f"{place_of(str(path))}:pipeline"))
    _, workers, objective, deadline = json.loads(invoke("plan", f"{path}:pipeline", "--json").out)[
        "notes"
    ]
    assert workers.startswith("its decorator asks for 4 workers, and this plan is for the 2")
    assert objective == "this plan is for the makespan; runs of the flow are for price"
    assert deadline.startswith("the deadline of 2.00 s is missed by 1.2")
    asked = json.loads(invoke("plan", f"{path}:pipeline", "-w", "fast:count=4", "--json").out)
    assert len(asked["notes"]) == 3


def test_a_flow_is_forecast_from_its_first_submission(
    invoke: Invoke, tmp_path: Path, store: ScheduleStore
) -> None:
    """Its last run began its first task after 0.7 s."""
    path = tmp_path / "my_flow.py"
    path.write_text(FLOW, encoding="utf-8")
    run = a_run()
    late = tuple(replace(t, start=t.start + 0.7, end=t.end + 0.7) for t in run.tasks)
    store.add_run(replace(run, tasks=late, seconds=4.0))
    found = json.loads(invoke("plan", f"{path}:pipeline", "--json").out)
    assert found["lead_s"] == pytest.approx(0.7)
    assert found["makespan_s"] == pytest.approx(3.2, rel=0.1)
    assert found["predicted_s"] == pytest.approx(0.7 + found["makespan_s"], rel=0.1)
    assert found["lower_bound_s"] == pytest.approx(0.7 + 3.2, rel=0.1)
    least, planned = found["lower_bound_s"], found["lead_s"] + found["makespan_s"]
    assert found["gap"] == pytest.approx(planned / least - 1, abs=1e-6)
    assert min(row["start_s"] for row in found["assignments"]) == 0.0
    text = invoke("plan", f"{path}:pipeline").out
    assert "of which 0.70 s until the first task, where" in " ".join(text.split())
    assert "s after the first start ▲" in text


def test_the_pauses_of_a_flows_code_are_forecast(
    invoke: Invoke, tmp_path: Path, store: ScheduleStore
) -> None:
    """It waits for its first task, and computes for 2 s before it submits the second."""
    path = tmp_path / "my_flow.py"
    path.write_text(FLOW, encoding="utf-8")
    run = a_run()
    store.add_run(run)
    without = json.loads(invoke("plan", f"{path}:pipeline", "--json").out)
    bursts = (Burst(1, (), 0.0), Burst(1, run.graph.names[:1], 2.0))
    store.add_run(replace(run, run_id="b" * 32, started_at=2_000.0, bursts=bursts))
    found = json.loads(invoke("plan", f"{path}:pipeline", "--json").out)
    for what in ("predicted_s", "makespan_s"):
        assert found[what] == pytest.approx(without[what] + 2.0, abs=0.01)
    first, second = sorted(found["assignments"], key=lambda row: row["start_s"])
    assert second["start_s"] == pytest.approx(first["end_s"] + 2.0)
    # Nor can any plan be faster: the code takes its time whatever the plan.
    assert found["lower_bound_s"] == pytest.approx(without["lower_bound_s"] + 2.0)
    assert found["status"] == "optimal"


def test_a_flow_may_be_planned_on_workers_that_it_never_saw(
    invoke: Invoke, tmp_path: Path, store: ScheduleStore
) -> None:
    """Declared twice as fast as the worker on which each of two tasks took 1.6 s."""
    path = tmp_path / "my_flow.py"
    path.write_text(FLOW, encoding="utf-8")
    store.add_run(a_run())
    found = json.loads(
        invoke("plan", f"{path}:pipeline", "--workers", "huge:speed=4", "--json").out
    )
    assert found["predicted_s"] == pytest.approx(1.6, rel=0.1)
    assert [worker["name"] for worker in found["workers"]] == ["huge"]


def test_hostile_names_are_only_text(invoke: Invoke, tmp_path: Path) -> None:
    builder = TaskGraph.build()
    builder.task("[red]x[/red]", kind="[bold]<b>:smile:", seconds=1.0)
    path = tmp_path / "\x1b[31mname.json"
    path.write_bytes(builder.done().to_json())
    shown = invoke("plan", path, "--workers", "[b]y")
    assert shown.code == 0
    assert "[bold]<b>:smile:" in shown.out
    assert "[b]y" in shown.out
    assert "\x1b" not in shown.out + shown.err


@pytest.mark.parametrize(
    ("predicted", "lead", "said"),
    [
        (5.0, 0.0, ""),
        (6.0, 1.0, "of which 1.00 s until the first task, where the chart begins"),
        (
            6.7,
            1.0,
            "of which 1.00 s until the first task, where the chart begins, "
            "0.70 s because durations vary",
        ),
        (5.7, 0.0, "of which 0.70 s because durations vary"),
    ],
)
def test_what_a_forecast_holds_beside_the_plan_is_told(
    predicted: float, lead: float, said: str
) -> None:
    result = SimpleNamespace(makespan=5.0)
    dry = SimpleNamespace(predicted=predicted, lead=lead, result=result)
    assert plan_view._parts(dry) == said  # type: ignore[arg-type]
