"""The audit against exact optima finds what is wrong, and nothing on a few instances."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_core.plan.time_indexed import optimal_value
from tests.benchmarks.audit import each_planner
from tests.benchmarks.audit.answer import Answer
from tests.benchmarks.audit.bounds import bounds_above
from tests.benchmarks.audit.case import cases
from tests.benchmarks.audit.each_planner import wrong_of_planners
from tests.benchmarks.audit.judging import verdict_of
from tests.benchmarks.audit.kept import Kept
from tests.benchmarks.audit.tally import Tally
from tests.benchmarks.audit.verdict import Verdict
from tests.benchmarks.audit_repairs import run
from tests.benchmarks.audit_repairs.past import wrong_of_past
from tests.plan.repair.by_hand import repaired, their_plan, two_workers

STEPS = Budget(iterations=50)


def test_nothing_is_wrong_with_a_few_instances() -> None:
    verdicts = [verdict_of(case, STEPS) for case in cases(0, 14)]
    assert {verdict.source for verdict in verdicts} == {"plain", "tight", "odd", "brim"}
    assert Tally(verdicts).violations == []
    assert sum(verdict.gap is not None for verdict in verdicts) >= 5
    for kind in ("noise", "threads"):
        others = [verdict_of(case, STEPS) for case in cases(0, 4, kind)]
        assert Tally(others).violations == []


def test_nothing_is_wrong_with_a_few_repairs() -> None:
    verdicts = [run.verdict_of(case) for case in cases(0, 20)]
    repairs = [repair for verdict in verdicts for repair in verdict.repairs]
    assert [repair.violations for repair in repairs if repair.violations] == []
    assert sum(repair.gap is not None for repair in repairs) >= 10


def test_a_bound_above_the_optimum_is_found() -> None:
    instance = Instance.from_arrays([[2.0, 2.0], [3.0, 3.0]], [(0, 1, 0.0)])
    result = plan(instance, STEPS)
    assert bounds_above(instance, result, Answer((5.0,))) == []
    wrong = " ".join(bounds_above(instance, result, Answer((4.0,))))
    for name in ("the plan's bound", "the value bound", "the quick bound", "its certificate"):
        assert name in wrong


class _Wrong:
    """A planner that gives what it is told to, or raises."""

    lane, name = Lane.SEARCH, "wrong"

    def __init__(self, proposal: Proposal | None) -> None:
        self.proposal = proposal

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        return None

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        if self.proposal is None:
            raise RuntimeError("broken")
        yield self.proposal


@pytest.mark.parametrize(
    ("proposal", "says"),
    [
        (None, "raises RuntimeError"),
        (Proposal(lower_bound=2.5), "is above 2"),
        (Proposal(lower_bound=float("inf")), "is above 2"),
        (Proposal(Schedule([Assignment("t0", "w0", 0.0, 1.0)])), "no schedule"),
        (Proposal(least=(1.0,)), "is the least"),
        (Proposal(lower_bound=2.0, least=(2.0,)), ""),
    ],
)
def test_a_planner_that_is_wrong_is_found(
    proposal: Proposal | None, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = Instance.from_arrays([[2.0]], [])
    monkeypatch.setattr(each_planner, "registered", lambda: [_Wrong(proposal)])
    assert says in " ".join(found := wrong_of_planners(instance, "makespan", Answer((2.0,))))
    assert bool(found) == bool(says)


def test_a_changed_past_is_found() -> None:
    instance, before = two_workers(), their_plan()
    result = repaired(instance, before, 3.0)
    graph = instance.graph
    assert wrong_of_past(graph, before, result, [], lost=set(), forgets=False) == []
    rows = [Assignment("a", "w1", 0, 2) if row.task == "a" else row for row in before.assignments]
    other = Schedule(rows, before.transfers)
    found = wrong_of_past(graph, other, result, [], lost=set(), forgets=False)
    assert len(found) == 1
    assert "has become" in found[0]


def test_an_audit_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "verdicts"
    kept = Kept(path, Verdict)
    verdict = Verdict(7, "odd", "price", ["counts"], value=2.0, optimum=1.0, violations=["wrong"])
    kept.add(verdict)
    again = Kept(path, Verdict)
    assert 7 in again
    assert 8 not in again
    assert again.since(0, 5) == [verdict]
    assert again.since(8, 5) == []


def test_the_oracle_gives_up() -> None:
    instance = Instance.from_arrays([[float(k)] * 3 for k in range(1, 6)], [])
    with pytest.raises(UnsupportedInstance, match="UNKNOWN"):
        optimal_value(instance, "makespan", 1.0, seconds=0.0)
