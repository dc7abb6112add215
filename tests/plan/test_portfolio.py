"""plan: who is asked, who is believed, and what the result says."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import (
    InvalidInput,
    PlanningFailed,
    ProvenInfeasible,
    UnsupportedInstance,
)
from orchestrator_core.graph import Cluster, Task, TaskGraph, Worker
from orchestrator_core.plan import PlanResult, PlanStatus, board, portfolio
from orchestrator_core.plan.bounds import lower_bound
from orchestrator_core.plan.bounds.check_certificate import verify
from orchestrator_core.plan.bounds.grid import rounded_up, unit_of
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.delayed import delayed
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS, ListPlanner
from orchestrator_core.plan.objective import CRITERIA, MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Planner, Proposal
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_core.plan.search.local_search import LocalSearch
from tests.plan.papers import topcuoglu
from tests.strategies import instances

HEFT = LIST_PLANNERS[0]
LISTS = [planner.name for planner in LIST_PLANNERS]


@dataclass
class Fake:
    """A planner that does as it is told, and remembers what it was asked."""

    answer: Callable[[Instance], Proposal]
    name: str = "fake"
    refuses: str | None = None
    asked: list[tuple[Budget, Schedule | None, float]] = field(default_factory=list)
    lane: ClassVar[Lane] = Lane.APART

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        return self.refuses

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        self.asked.append((brief.budget, brief.incumbent, brief.lower_bound))
        yield self.answer(brief.instance)


def note_of(name: str, *planners: Planner, instance: Instance | None = None) -> str:
    """What the attempts say of `name`, when HEFT is asked first."""
    result = plan(instance or topcuoglu(), Budget(seconds=1.0), _registry=(HEFT, *planners))
    assert result.planner == "heft"
    return next(attempt.note for attempt in result.attempts if attempt.planner == name)


def test_a_planner_can_be_picked() -> None:
    result = plan(topcuoglu(), planners=["heft"])
    assert (result.planner, result.makespan) == ("heft", 80.0)
    assert [attempt.planner for attempt in result.attempts] == ["heft"]


def test_further_criteria_are_proven_too() -> None:
    cluster = Cluster([Worker("slow", price=3600.0), Worker("fast", speed=2.0, price=7200.0)])
    tasks = [Task(f"t{i}", seconds=4) for i in range(3)]
    instance = Instance.price(TaskGraph.from_tasks(tasks), cluster)
    result = plan(instance, Budget(iterations=2000), objective="makespan,price")
    assert result.values == pytest.approx((4.0, 12.0))
    assert (result.settled, result.status) == (True, PlanStatus.OPTIMAL)
    assert PlanResult.from_json(result.to_json()) == result


def test_no_schedule_is_proven_under_any_objective() -> None:
    tasks = [Task(f"t{i}", seconds=2, deadline=3) for i in range(2)]
    instance = Instance.price(TaskGraph.from_tasks(tasks), Cluster([Worker("w")]))
    with pytest.raises(ProvenInfeasible, match="no schedule keeps all deadlines"):
        plan(instance, Budget(iterations=2000), objective="price,makespan")


@pytest.mark.parametrize("objective", ["memory,makespan", "price,makespan"])
@pytest.mark.parametrize("budget", [Budget(iterations=50), Budget(seconds=1.0)])
def test_where_the_lists_keep_no_deadline_a_search_finds_a_schedule(
    objective: str, budget: Budget
) -> None:
    """A task of 10 s, and one of 1 s that may run from 1 s to 2.5 s: HEFT takes the long one first,
    and the searches by memory and price began with what the lists had found, which was nothing."""
    tasks = [
        Task("long", seconds=10.0, memory=4.0),
        Task("soon", seconds=1.0, memory=2.0, release=1.0, deadline=2.5),
    ]
    instance = Instance.price(TaskGraph.from_tasks(tasks), Cluster([Worker("w0", price=1.0)]))
    names = ["heft", "local-search-general", "objective-search"]
    result = plan(instance, budget, names, objective=objective)
    check_schedule(instance, result.schedule)
    assert result.makespan == pytest.approx(12.0)


def test_loading_is_no_time_of_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seconds until the bound count from the same moment as those of planning."""
    order: list[str] = []
    load, board = portfolio.warm.load, portfolio.Board
    monkeypatch.setattr(portfolio.warm, "load", lambda: order.append("load") or load())
    monkeypatch.setattr(portfolio, "Board", lambda *given: order.append("board") or board(*given))
    plan(topcuoglu(), Budget(seconds=0.0))
    assert order == ["load", "board"]


def test_an_unknown_planner_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidInput, match=r"planners is 5; name some of .*'cpsat'"):
        plan(topcuoglu(), planners=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"no planner 'hefty'; did you mean 'heft'\? .*'cpsat'"):
        plan(topcuoglu(), planners=["hefty"])
    with pytest.raises(InvalidInput, match=r"planners is 'heft'; name some of"):
        plan(topcuoglu(), planners="heft")


def test_nothing_to_schedule_is_worth_nothing_under_any_objective() -> None:
    nothing = Instance.from_arrays(np.zeros((0, 1)), [])
    result = plan(nothing, objective="price,makespan")
    assert (result.objective, result.values) == ("price,makespan", (0.0, 0.0))
    with pytest.raises(InvalidInput, match="no criterion 'nonsense'"):
        plan(nothing, objective="nonsense")


def test_what_is_no_instance_no_budget_and_no_objective_is_refused_in_words() -> None:
    instance: Any = topcuoglu()
    with pytest.raises(
        InvalidInput, match=r"not of a TaskGraph; Instance\.price\(graph, cluster\)"
    ):
        plan(instance.graph)
    wrong: Any
    for wrong in (1.0, "1s", 0):
        with pytest.raises(InvalidInput, match=r"expected a Budget, such as Budget\(seconds=2\)"):
            plan(instance, wrong)
    for wrong in (None, 3, (1, 2)):
        with pytest.raises(InvalidInput, match="expected names such as 'tardiness,makespan'"):
            plan(instance, objective=wrong)


def test_the_best_list_wins_and_the_bound_holds() -> None:
    result = plan(topcuoglu(), planners=LISTS)
    makespans = [a.makespan for a in result.attempts if a.makespan is not None]
    assert result.makespan == min(makespans)
    assert result.lower_bound == pytest.approx(lower_bound(topcuoglu()).seconds)
    # 73 s is the optimum of this example.
    assert result.lower_bound <= 73.0 <= result.makespan


def test_no_seconds_at_all_still_give_a_schedule() -> None:
    result = plan(topcuoglu(), Budget(seconds=0.0))
    assert result.makespan <= 80.0
    exact = next(attempt for attempt in result.attempts if attempt.planner == "cpsat")
    assert exact.makespan is None
    assert "not tried" in exact.note


def test_it_stops_when_the_gap_is_small_enough() -> None:
    """HEFT is within 30 % here: nobody else is asked."""
    result = plan(topcuoglu(), Budget(gap=0.3))
    assert [attempt.planner for attempt in result.attempts] == ["heft"]
    assert result.gap <= 0.3


def test_it_stops_when_the_schedule_counts_as_optimal() -> None:
    """Durations that are no whole numbers of a tick are rounded down where CP-SAT proves: its bound
    stays a little below the makespan, however long it goes on."""
    given = topcuoglu()
    instance = Instance(given.graph, given.cluster, given.seconds * math.pi)
    found = plan(instance, planners=["heft"]).makespan
    proof = Fake(lambda _: Proposal(lower_bound=found * (1 - 1e-7)), name="proof")
    after = Fake(lambda _: Proposal(), name="after")
    result = plan(instance, Budget(seconds=5.0), _registry=(HEFT, proof, after))
    assert (result.status, len(proof.asked), after.asked) == (PlanStatus.OPTIMAL, 1, [])


def test_a_chain_is_optimal_by_its_critical_path() -> None:
    instance = Instance.from_arrays(np.ones((5, 2)), [(i, i + 1, 1) for i in range(4)], latency=1.0)
    result = plan(instance)
    assert result.status is PlanStatus.OPTIMAL
    assert "5 s is optimal" in result.reason
    assert "critical path" in result.reason


def test_the_reason_tells_the_gap() -> None:
    result = plan(topcuoglu(), planners=["heft"])
    assert result.reason.startswith("HEFT gave the schedule; proven within 27 % of the optimum")


def test_cpsat_proves_the_optimum_of_the_paper() -> None:
    """HEFT's 80 is 9.6 % above the optimum of 73."""
    result = plan(topcuoglu(), Budget(seconds=60.0), ["heft", "local-search", "cpsat"])
    assert result.makespan == pytest.approx(73.0)
    assert result.status is PlanStatus.OPTIMAL
    assert result.reason == "CP-SAT proved 73 s optimal; Local search had found it."


def test_a_planner_that_raises_is_named_and_passed_by() -> None:
    def crash(instance: Instance) -> Proposal:
        raise ZeroDivisionError("by design")

    assert note_of("fake", Fake(crash)) == "failed: ZeroDivisionError: by design"


def test_a_planner_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio, "GRACE", 0.05)
    for_ever = threading.Event()

    def hang(instance: Instance) -> Proposal:
        for_ever.wait()
        return Proposal(None)

    result = plan(topcuoglu(), Budget(seconds=0.2), _registry=(HEFT, Fake(hang)))
    for_ever.set()
    assert result.planner == "heft"
    assert "hung" in result.attempts[-1].note


def test_an_invalid_schedule_is_named_and_not_believed() -> None:
    def cheat(instance: Instance) -> Proposal:
        return Proposal(Schedule([Assignment("t0", "w0", 0, 1)]))

    assert note_of("fake", Fake(cheat)).startswith("gave an invalid schedule")


def test_a_bound_above_a_valid_schedule_is_not_believed() -> None:
    def boast(instance: Instance) -> Proposal:
        return Proposal(None, lower_bound=1000.0)

    assert "exceeds a schedule of 80" in note_of("fake", Fake(boast))


def test_a_better_bound_counts() -> None:
    fake = Fake(lambda instance: Proposal(None, lower_bound=70.0))
    result = plan(topcuoglu(), Budget(seconds=1.0), _registry=(HEFT, fake))
    assert (result.lower_bound, result.bound_method) == (70.0, "fake")


def test_planners_are_told_the_incumbent_the_bound_and_the_time_left() -> None:
    fake = Fake(lambda instance: Proposal(None))
    plan(topcuoglu(), Budget(seconds=5.0, seed=3), _registry=(HEFT, fake))
    budget, incumbent, bound = fake.asked[0]
    assert budget.seed == 3
    assert 0 < budget.seconds < 5.0
    assert incumbent is not None
    assert incumbent.makespan == 80.0
    assert bound == pytest.approx(lower_bound(topcuoglu()).seconds)


def test_a_hint_is_the_first_incumbent() -> None:
    best = plan(topcuoglu(), planners=LISTS).schedule
    result = plan(topcuoglu(), planners=["serial"], hint=best)
    assert result.planner == "hint"
    assert result.schedule == best


def test_dates_of_a_clock_are_refused() -> None:
    """Times are compared to 1e-9 of the latest: four tasks of 1 s would fit on a thread at once."""
    epoch = Instance.from_arrays(np.ones((4, 1)), [], release=np.full(4, 1.76e9))
    with pytest.raises(InvalidInput, match="1760000000 s, 56 years after the plan begins"):
        plan(epoch)
    later = Instance.from_arrays(np.ones((4, 1)), [], release=np.full(4, 3e6))
    assert plan(later, Budget(iterations=5)).makespan == 3e6 + 4


def pair() -> Instance:
    """Two tasks in a row, on either of two workers."""
    return Instance.from_arrays([[1.0, 2.0], [1.0, 2.0]], [(0, 1, 8.0)], seconds_per_byte=0.1)


INVALID = {
    "lacks a task": [Assignment("t0", "w0", 0, 1)],
    "has one twice": [Assignment("t0", "w0", 0, 1)] * 2,
    "is of another graph": [Assignment("load", "w0", 0, 1), Assignment("t1", "w0", 1, 2)],
    "lacks a transfer": [Assignment("t0", "w0", 0, 1), Assignment("t1", "w1", 1, 3)],
    "ends at no time": [Assignment("t0", "w0", 0, math.nan), Assignment("t1", "w0", 1, 2)],
}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("hint", INVALID)
def test_an_invalid_hint_is_named_and_passed_by(hint: str, criterion: str) -> None:
    given = Schedule(INVALID[hint])
    result = plan(pair(), Budget(iterations=5), hint=given, objective=criterion)
    assert result.planner != "hint"
    assert "invalid" in result.attempts[0].note
    check_schedule(pair(), result.schedule)


def test_when_nobody_takes_it_all_reasons_are_told() -> None:
    refusing = Fake(lambda instance: Proposal(None), refuses="deadlines")
    with pytest.raises(UnsupportedInstance, match="fake: cannot take it: deadlines"):
        plan(topcuoglu(), _registry=(refusing,))


def test_a_reason_of_many_is_told_once() -> None:
    many = [Fake(lambda _: Proposal(None), name=f"p{i}", refuses="size") for i in range(5)]
    other = Fake(lambda _: Proposal(None), name="q", refuses="modes")
    told = r"p0, p1, p2 and 2 more: cannot take it: size; q: cannot take it: modes$"
    with pytest.raises(UnsupportedInstance, match=told):
        plan(topcuoglu(), _registry=(*many, other))


def test_when_nobody_finds_one_each_is_heard() -> None:
    instance = Instance.from_arrays([[5.0], [5.0]], [], deadline=[np.inf, 5.0])
    empty = Fake(lambda instance: Proposal(None, note="found nothing"))
    with pytest.raises(
        PlanningFailed, match=r"heft: task 't1' would end at 10 s.*fake: found nothing"
    ):
        plan(instance, _registry=(HEFT, empty))


def test_no_tasks_make_an_empty_schedule() -> None:
    nothing = Instance.price(TaskGraph.build().done(), Cluster([Worker("w0")]))
    result = plan(nothing)
    assert len(result.schedule) == 0
    assert result.status is PlanStatus.OPTIMAL
    check_schedule(nothing, result.schedule)


def test_the_same_iterations_give_the_same_bytes() -> None:
    rng = np.random.default_rng(11)
    edges = [(i, j, rng.random()) for j in range(1, 60) for i in range(max(0, j - 3), j)]
    instance = Instance.from_arrays(rng.random((60, 4)), edges, seconds_per_byte=0.2)
    budget = Budget(iterations=5, seed=1)
    first = plan(instance, budget, LISTS).schedule.to_json()
    assert all(plan(instance, budget, LISTS).schedule.to_json() == first for _ in range(100))


@settings(max_examples=30)
@given(instances(any_constraints=True))
def test_whatever_is_returned_is_valid_and_proven(instance: Instance) -> None:
    try:
        result = plan(instance, Budget(iterations=0), LISTS)
    except PlanningFailed:
        return
    check_schedule(instance, result.schedule)
    assert result.lower_bound <= result.makespan * (1 + 1e-9)
    assert result.reason.endswith(".")


def test_the_bound_comes_with_a_certificate_that_can_be_checked() -> None:
    """73 s is the optimum; the checker uses no solver."""
    result = plan(topcuoglu(), Budget(iterations=200), planners=["heft", "bounds"])
    assert result.certificate is not None
    proven = verify(topcuoglu(), result.certificate)
    assert 63.0 - 1e-6 <= proven <= 73.0
    assert rounded_up(proven, unit_of(topcuoglu())) == result.lower_bound
    again = PlanResult.from_json(result.to_json())
    assert again == result


@pytest.mark.parametrize(
    ("seconds", "turns"), [(0.0, ["heft", "cpop", "bound"]), (60.0, ["heft", "bound", "cpop"])]
)
def test_without_time_the_bound_waits_for_the_lists(
    monkeypatch: pytest.MonkeyPatch, seconds: float, turns: list[str]
) -> None:
    """It took a third of the milliseconds that list planners have in any case."""
    asked: list[str] = []
    listed, first_bound = ListPlanner.plan, portfolio.first_bound

    def planned(planner: ListPlanner, brief: Brief) -> Iterator[Proposal]:
        asked.append(planner.name)
        return listed(planner, brief)

    def bounded(*given: Any) -> Any:
        asked.append("bound")
        return first_bound(*given)

    monkeypatch.setattr(ListPlanner, "plan", planned)
    monkeypatch.setattr(portfolio, "first_bound", bounded)
    monkeypatch.setattr(portfolio, "FREE", math.inf)
    result = plan(topcuoglu(), Budget(seconds=seconds), ["heft", "cpop"])
    assert asked == turns
    assert result.lower_bound > 0


@dataclass
class Listed(Fake):
    """A fake list planner that proposes one schedule."""

    lane: ClassVar[Lane] = Lane.LIST


def test_without_time_the_best_of_the_lists_is_checked_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """HEFT comes to 80 s, what is longer than the best is not checked, what is invalid is named."""
    checked: list[float] = []

    def check(instance: Instance, schedule: Schedule) -> None:
        checked.append(schedule.makespan)
        check_schedule(instance, schedule)

    def late(seconds: float) -> Callable[[Instance], Proposal]:
        best = plan(topcuoglu(), Budget(iterations=500)).schedule
        return lambda _: Proposal(delayed(best, seconds))

    monkeypatch.setattr(board, "check_schedule", check)
    monkeypatch.setattr(portfolio, "FREE", math.inf)
    fakes = [Listed(late(5.0), "five"), Listed(late(2.0), "two"), Listed(late(-2.0), "less")]
    checked.clear()
    result = plan(topcuoglu(), Budget(seconds=0.0), _registry=[HEFT, *fakes])
    assert checked == [80.0, 71.0, 75.0]
    assert (result.planner, result.makespan) == ("two", 75.0)
    notes = {attempt.planner: attempt.note for attempt in result.attempts}
    assert "invalid" in notes["less"]
    assert notes["five"] == ""


def test_what_the_lists_leave_of_the_free_time_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio, "FREE", 2.0)
    monkeypatch.setattr(LocalSearch, "seconds", lambda *_: 0.0)
    result = plan(topcuoglu(), Budget(seconds=0.0), ["heft", "local-search", "cpsat"])
    assert result.makespan == 73.0
    notes = {attempt.planner: attempt.note for attempt in result.attempts}
    assert "schedules tried" in notes["local-search"]
    assert "not tried" in notes["cpsat"]
