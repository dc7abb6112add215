"""What a REPL and a notebook show of results: few lines, whatever the size."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

import orchestrator_core as oc
from orchestrator_core.plan.objectives.pareto import ParetoFront, ParetoPoint
from orchestrator_core.plan.picture import BARS, LINES, WIDTH, picture
from orchestrator_core.plan.realtime.verdict import Infeasible
from orchestrator_core.plan.repair import WorkerLost
from orchestrator_core.plan.schedule import Assignment, Schedule


@pytest.fixture(scope="module")
def instance() -> oc.Instance:
    builder = oc.TaskGraph.build()
    for i in range(300):
        builder.task(f"load-{i}", seconds=1.0)
    cluster = oc.Cluster([oc.Worker("a"), oc.Worker("b")], oc.Link(0.001, 1e8))
    return oc.Instance.price(builder.done(), cluster)


@pytest.fixture(scope="module")
def result(instance: oc.Instance) -> oc.PlanResult:
    return oc.plan(instance, planners=("heft",))


def test_a_plan_is_a_line(result: oc.PlanResult) -> None:
    plain = replace(result, lower_bound=120.0, bound_method="load", seconds=0.5)
    assert repr(plain) == (
        "PlanResult(Schedule(300 assignments, makespan 150 s), feasible, gap 25 %: bound 120 by "
        "load; by heft in 0.5 s)"
    )
    priced = replace(plain, objective="price,makespan", values=(3.0, 150.0), lower_bound=3.0)
    assert "price 3, makespan 150, feasible, gap 0 %" in repr(priced)


def test_a_repair_is_a_line(instance: oc.Instance, result: oc.PlanResult) -> None:
    made = oc.replan(instance, result.schedule, now=10.0, events=[WorkerLost("b")])
    assert repr(made) == (
        "Replan(Schedule(300 assignments, makespan 290 s), from 10 s on: 140 moved, 140 kept; with "
        "everything kept in its place: 290 s)"
    )


def test_of_a_front_some_points_are_written_out() -> None:
    nothing = Schedule([])
    points = tuple(ParetoPoint((float(i), 100.0 - i), nothing) for i in range(41))
    lines = repr(ParetoFront(("makespan", "price"), points, 2.0)).splitlines()
    assert lines[0] == "ParetoFront of makespan, price: 41 points in 2 s"
    assert lines[1:3] == ["    0, 100", "    6, 94"]
    assert len(lines) < 10


@pytest.mark.parametrize("reason", ["Too late", "Too late."])
def test_of_a_conflict_some_tasks_are_written_out(reason: str) -> None:
    said = repr(Infeasible(tuple(f"t-{i}" for i in range(1000)), reason, "load", True))
    assert said == (
        "Infeasible(Too late. By load; in conflict: 't-0', 't-1', 't-2', 't-3', 't-4' and 995 more,"
        " and no fewer)"
    )


def test_a_picture_has_a_bar_for_each_assignment_and_its_length(result: oc.PlanResult) -> None:
    drawn = ElementTree.fromstring(picture(result.schedule))
    bars = [each for each in drawn if each.tag.endswith("rect")]
    assert len(bars) == 300
    ends = [float(bar.attrib["x"]) + float(bar.attrib["width"]) for bar in bars]
    assert max(ends) == pytest.approx(WIDTH, abs=1.5)
    assert picture(result.schedule) in result._repr_html_()
    assert picture(result.schedule) in result.schedule._repr_html_()


def test_a_picture_stays_small_and_names_are_no_markup() -> None:
    rows = [Assignment(f"<b>{i}", f"w{i % 100}", float(i), i + 1.0) for i in range(5000)]
    made = picture(Schedule(rows))
    assert "<b>" not in made
    shown = made.count("<rect")
    assert shown == BARS * LINES // 100
    assert made.endswith(f"<p>{5000 - shown:,} more assignments are not drawn</p>")


def test_nothing_is_a_picture_too() -> None:
    assert "<rect" not in picture(Schedule([]))
