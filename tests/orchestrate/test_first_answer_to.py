"""Small questions about other things than time are answered without compiled code, too."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator_core import Cluster, Orchestrator, TaskGraph, Worker, check_schedule
from orchestrator_core.orchestrate import first_answer
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.loading import LOADING
from orchestrator_core.orchestrate.price_limit import price_of
from orchestrator_core.plan import warm
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.result import PlanResult
from orchestrator_core.store.memory import MemoryStore

CLUSTER = Cluster(
    [
        Worker("dear", kind="dear", speed=2.0, price=36_000.0),
        Worker("cheap", kind="cheap", speed=1.0, price=3_600.0),
    ]
)
"""Money a second: 10 for the fast worker, 1 for the slow one."""


def tasks(seconds: float = 1.0, **dates: float) -> TaskGraph:
    """Eight alike, the last of them with these dates."""
    builder = TaskGraph.build()
    for i in range(8):
        builder.task(f"t{i}", kind="t", seconds=seconds, **(dates if i == 7 else {}))
    return builder.done()


def ends(advice: Any) -> dict[str, float]:
    return {a.task: a.end for a in advice.plan.schedule.assignments}


def workers(advice: Any) -> set[str]:
    return {a.worker for a in advice.plan.schedule.assignments}


@pytest.fixture(autouse=True)
def at_full_strength(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """As in a process of its own; and what was asked at full strength."""
    monkeypatch.setattr(warm, "is_loaded", lambda: False)
    asked: list[str] = []
    forecast = Orchestrator.planned

    def noted(self: Orchestrator, graph: TaskGraph, *more: Any) -> Forecast:
        asked.append("yes")
        return forecast(self, graph, *more)

    monkeypatch.setattr(Orchestrator, "planned", noted)
    return asked


def brisk(store: MemoryStore | None = None, **more: Any) -> Orchestrator:
    return Orchestrator(store or MemoryStore(), brisk=True, **more)


def test_the_cheapest_plan_leaves_dear_workers_alone(at_full_strength: list[str]) -> None:
    advice = brisk(objective="price").advise(tasks(), CLUSTER, "flow")
    assert advice.adopted, advice.reason
    assert workers(advice) == {"cheap"}
    assert "price is 8 against" in advice.reason
    assert advice.plan is not None
    # 8 s of work at speeds 2 and 1: what is promised to people is a bound on the seconds.
    assert advice.plan.lower_bound == pytest.approx(8 / 3)
    assert advice.plan.predicted >= 8.0
    assert str(advice.objective) == "price"
    assert not at_full_strength


def test_what_is_due_soon_comes_first(at_full_strength: list[str]) -> None:
    advice = brisk(objective="tardiness,makespan").advise(tasks(due=1.0), CLUSTER, "flow")
    assert advice.adopted, advice.reason
    assert ends(advice)["t7"] <= 1.0
    assert advice.plan is not None
    assert advice.plan.schedule.makespan == pytest.approx(3.0), "six halves against two ones"
    assert not at_full_strength


def test_a_deadline_that_can_be_met_is(at_full_strength: list[str]) -> None:
    advice = brisk().advise(tasks(deadline=1.0), CLUSTER, "flow")
    assert advice.adopted, advice.reason
    assert ends(advice)["t7"] <= 1.0
    assert not at_full_strength


def test_the_cheapest_plan_that_ends_in_time(at_full_strength: list[str]) -> None:
    """The cheap worker alone takes 8 s; one task on the dear one makes 7 s, for 7 + 5 money."""
    builder = TaskGraph.build()
    for i in range(8):
        builder.task(f"t{i}", kind="t", seconds=1.0, deadline=7.5)
    advice = brisk(objective="price,makespan").advise(builder.done(), CLUSTER, "flow")
    assert advice.plan is not None
    assert advice.instance is not None
    check_schedule(advice.instance, advice.plan.schedule)
    assert price_of(advice.instance, advice.plan.schedule) == pytest.approx(12.0, rel=0.25)
    assert max(ends(advice).values()) <= 7.5
    assert not at_full_strength


@pytest.mark.parametrize(
    ("seconds", "cause"),
    [
        (0.2, "deadlines cannot be met (task 't7' cannot end by its deadline of 0.2 s"),
        (0.0, "the deadline has passed"),
    ],
)
def test_a_deadline_that_nobody_can_meet_holds_nothing_up(
    at_full_strength: list[str], seconds: float, cause: str
) -> None:
    """Half a second is what the fast worker needs for it."""
    advice = brisk().advise(tasks(deadline=seconds), CLUSTER, "flow")
    assert advice.reason.startswith(cause)
    assert ends(advice)["t7"] == pytest.approx(0.5)
    assert not at_full_strength


def test_nor_does_one_that_all_tasks_together_miss(at_full_strength: list[str]) -> None:
    """All eight need 8/3 s on workers of speeds 2 and 1."""
    builder = TaskGraph.build()
    for i in range(8):
        builder.task(f"t{i}", kind="t", seconds=1.0, deadline=2.0)
    advice = brisk().advise(builder.done(), CLUSTER, "flow")
    cause = "deadlines cannot be met (no plan takes less than 2.67 s, and 2.00 s are left)"
    assert advice.reason.startswith(f"{cause}, so this is for least lateness; ")
    assert not at_full_strength


def test_nor_does_a_due_date(at_full_strength: list[str]) -> None:
    advice = brisk(objective="tardiness").advise(tasks(due=0.2), CLUSTER, "flow")
    assert ends(advice)["t7"] == pytest.approx(0.5)
    assert not at_full_strength


@pytest.mark.parametrize("kind", ["due", "deadline"])
def test_who_is_late_by_more_than_loading_takes_is_asked_at_full_strength(
    at_full_strength: list[str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    found = first_answer.first_schedule

    def poor(*asked: Any) -> tuple[PlanResult, str]:
        result, cache = found(*asked)
        return replace(result, values=(result.value + LOADING + 0.1, *result.values[1:])), cache

    monkeypatch.setattr(first_answer, "first_schedule", poor)
    orchestrator = brisk(objective="tardiness", budget=Budget(iterations=3))
    orchestrator.advise(tasks(**{kind: 0.2}), CLUSTER, "flow")
    assert at_full_strength


def test_bytes_are_counted_at_full_strength_alone(at_full_strength: list[str]) -> None:
    """Interpreted, that takes half a minute for a few hundred tasks."""
    orchestrator = brisk(objective="makespan,memory", budget=Budget(iterations=3))
    assert orchestrator.advise(tasks(), CLUSTER, "flow").plan is not None
    assert at_full_strength


@pytest.mark.parametrize("limit", [100.0, 20.0, 8.0])
def test_a_limit_on_the_price_is_kept(at_full_strength: list[str], limit: float) -> None:
    advice = brisk(max_price=limit).advise(tasks(), CLUSTER, "flow")
    assert advice.plan is not None
    assert advice.instance is not None
    assert price_of(advice.instance, advice.plan.schedule) <= limit + 1e-9
    assert advice.max_price == limit
    assert not at_full_strength


def test_a_limit_that_nothing_keeps_is_tried_at_full_strength(at_full_strength: list[str]) -> None:
    orchestrator = brisk(max_price=5.0, budget=Budget(iterations=3))
    advice = orchestrator.advise(tasks(), CLUSTER, "flow")
    assert "so this is the cheapest" in advice.reason
    assert at_full_strength


def test_a_long_run_is_worth_loading_everything(at_full_strength: list[str]) -> None:
    orchestrator = brisk(objective="price", budget=Budget(iterations=3))
    assert orchestrator.advise(tasks(seconds=1000.0), CLUSTER, "flow").adopted
    assert at_full_strength


def test_what_was_planned_in_a_hurry_is_stored_and_bettered_by_whoever_has_time() -> None:
    store = MemoryStore()
    first, again = (brisk(store, objective="price").advise(tasks(), CLUSTER, "") for _ in range(2))
    assert first.plan is not None
    assert again.plan is not None
    assert (first.plan.cache, again.plan.cache) == ("miss", "hit")
    assert again.plan.schedule == first.plan.schedule


ASK = """
import sys
from orchestrator_core import Orchestrator
from tests.orchestrate.test_first_answer_to import CLUSTER, tasks
asked = {"objective": sys.argv[1], "max_price": float(sys.argv[2]) or None}
brisk = Orchestrator(sys.argv[3], brisk=True, **asked)
brisk.warm_up()
dates = {sys.argv[4]: 4.0} if len(sys.argv) > 4 else {}
advice = brisk.advise(tasks(**dates), CLUSTER, "flow")
assert advice.plan is not None, advice.reason
assert "numba" not in sys.modules, "it takes a second to load"
"""


@pytest.mark.parametrize(
    "asked",
    [
        ("price,makespan", "0", "deadline"),
        ("tardiness,price", "0", "due"),
        ("makespan", "20"),
        ("makespan", "0", "deadline"),
    ],
    ids=" ".join,
)
def test_a_new_process_answers_without_a_compiler(tmp_path: Path, asked: tuple[str, ...]) -> None:
    objective, limit, *dates = asked
    command = [sys.executable, "-c", ASK, objective, limit, str(tmp_path / "runs.db"), *dates]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert told.returncode == 0, told.stderr
