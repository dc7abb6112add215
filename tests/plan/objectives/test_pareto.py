from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput, InvalidSchedule
from orchestrator_core.graph import Cluster, Task, TaskGraph, Worker
from orchestrator_core.plan import warm
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine.compiled import may_compile, not_compiling
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.objectives import pareto as module
from orchestrator_core.plan.objectives.front import Front
from orchestrator_core.plan.objectives.pareto import pareto
from orchestrator_core.plan.objectives.time_search import TimeSearch
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.plan.objectives.dressed import dressed_instances


def _fast_or_cheap() -> Instance:
    """Three tasks of 6 s; the fast worker takes 2 s for one, and costs 12 a second instead of 1."""
    cluster = Cluster([Worker("cheap", price=3600.0), Worker("fast", speed=3.0, price=12 * 3600.0)])
    tasks = [Task(f"t{i}", seconds=6) for i in range(3)]
    return Instance.price(TaskGraph.from_tasks(tasks), cluster)


def test_front_by_hand() -> None:
    """k tasks on the fast worker: its lease costs 24 k, that of the other 6 (3 - k); the last end
    is the later one of 2 k and 6 (3 - k). All three on the fast one: 6 s. Two: also 6 s, for less.
    """
    front = pareto(_fast_or_cheap(), Budget(iterations=200))
    values = [point.value for point in front.points]
    assert values == [
        pytest.approx((6.0, 2 * 24 + 6)),
        pytest.approx((12.0, 24 + 12)),
        pytest.approx((18.0, 18)),
    ]
    within = front.within("price", 40.0)
    assert within is not None
    assert within.value == pytest.approx((12.0, 36.0))
    assert front.within("price", 1.0) is None


def test_a_limit_that_is_met_exactly_is_kept() -> None:
    """A lease of 3 s at 0.1 a second, which as floats make 0.30000000000000004."""
    cluster = Cluster([Worker("w", price=360.0)])
    tasks = [Task(f"t{i}", seconds=1) for i in range(3)]
    front = pareto(Instance.price(TaskGraph.from_tasks(tasks), cluster), Budget(iterations=5))
    assert front.points[0].value[1] > 0.3
    assert front.within("price", 0.3) is front.points[0]
    assert front.within("price", 0.299999) is None


@pytest.mark.parametrize("criteria", [("makespan", "price"), ("tardiness", "memory", "busy-price")])
def test_points_are_valid_sorted_and_not_dominated(criteria: tuple[str, ...]) -> None:
    for seed, instance in dressed_instances(range(500, 520)):
        front = pareto(instance, Budget(iterations=40), criteria)
        values = [point.value for point in front.points]
        assert values == sorted(values), seed
        for point in front.points:
            check_schedule(instance, point.schedule)
            assert point.value == evaluate(instance, point.schedule, ",".join(criteria)), seed
        for a in values:
            for b in values:
                assert a is b or not all(x <= y for x, y in zip(a, b, strict=True)), seed


def test_same_iterations_give_the_same_front() -> None:
    fronts = [pareto(_fast_or_cheap(), Budget(iterations=50, seed=3)) for _ in range(2)]
    one, other = ([p.schedule.to_json() for p in front.points] for front in fronts)
    assert one == other


def test_a_limit_on_what_the_front_does_not_know_is_refused() -> None:
    front = pareto(_fast_or_cheap(), Budget(iterations=5))
    with pytest.raises(InvalidInput, match="no criterion 'prize'; it has makespan and price"):
        front.within("prize", 1.0)
    with pytest.raises(InvalidInput, match="the limit is 'cheap'; give a number"):
        front.within("price", "cheap")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"objectives": None}, "objective=None: expected names"),
        ({"objectives": 5}, "objective=5: expected names"),
        ({"objectives": ("makespan",)}, "a front has two criteria or more"),
        ({"seeds": None}, "seeds is None; give a list"),
        ({"seeds": [None]}, "a seed is None, not a Schedule"),
    ],
)
def test_what_no_front_is_made_of(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        pareto(_fast_or_cheap(), Budget(iterations=1), **given)


def test_a_seed_that_breaks_a_rule_is_refused() -> None:
    """It was left out without a word: who hands in the plan of yesterday, on a cluster that lost a
    worker since, would take the front for one that is no worse."""
    instance = _fast_or_cheap()
    front = pareto(instance, Budget(iterations=1))
    good = front.points[0].schedule
    soon = Schedule([replace(each, end=each.end / 2) for each in good.assignments], good.transfers)
    with pytest.raises(InvalidSchedule, match=r"^seeds\[1\]: ") as caught:
        pareto(instance, Budget(iterations=1), seeds=[good, soon])
    assert caught.value.rule == "duration"


def test_a_front_drops_what_is_dominated() -> None:
    front: Front[str] = Front([((1.0, 9.0), "a"), ((5.0, 5.0), "b")])
    assert not front.add((5.0, 6.0), "worse than b")
    assert not front.add((5.0, 5.0), "as b")
    assert front.add((1.0, 4.0), "better than both")
    assert [what for _, what in front.points] == ["better than both"]


def test_nobody_waits_for_a_compiler_unless_iterations_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a machine that has compiled nothing, ten seconds of a budget went into it, and a front of
    one point came of them that any list would have beaten."""
    asked: list[bool] = []

    def noted(*given: Any) -> Any:
        asked.append(may_compile())
        return place(*given)

    monkeypatch.setattr(module, "place", noted)
    monkeypatch.setattr(warm, "load", lambda: frozenset(warm.PARTS))
    monkeypatch.setattr(warm, "not_waiting", not_compiling)
    pareto(_fast_or_cheap(), Budget(seconds=0.05))
    assert asked
    assert not any(asked)
    asked.clear()
    pareto(_fast_or_cheap(), Budget(iterations=1))
    assert all(asked)


def test_a_search_that_raises_costs_only_its_own_points(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(search: TimeSearch, brief: Brief) -> Iterator[Proposal]:
        yield Proposal(brief.incumbent)
        raise ZeroDivisionError

    monkeypatch.setattr(module.TimeSearch, "plan", broken)
    values = [point.value for point in pareto(_fast_or_cheap(), Budget(iterations=200)).points]
    assert values[0] == pytest.approx((6.0, 2 * 24 + 6))
    assert values[-1] == pytest.approx((18.0, 18))


def test_a_schedule_that_is_none_is_no_point(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(search: TimeSearch, brief: Brief) -> Iterator[Proposal]:
        yield Proposal(Schedule([Assignment(task="t0", start=0.0, end=1.0, worker="nobody")]))

    monkeypatch.setattr(module.TimeSearch, "plan", wrong)
    front = pareto(_fast_or_cheap(), Budget(iterations=200))
    assert [len(point.schedule) for point in front.points] == [3] * len(front.points)
