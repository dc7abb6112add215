"""Budgets and results: what they refuse, what they say, and that they survive JSON."""

from __future__ import annotations

import math

import pytest

from orchestrator_core import (
    Assignment,
    Attempt,
    Budget,
    InvalidBudget,
    InvalidFormat,
    PlanResult,
    PlanStatus,
    Schedule,
)


def result(makespan=10.0, lower_bound=8.0):
    return PlanResult(
        schedule=Schedule([Assignment("a", "w", 0.0, makespan)]),
        lower_bound=lower_bound,
        bound_method="critical path",
        planner="heft",
        reason="HEFT's schedule",
        seconds=0.5,
        attempts=(Attempt("heft", makespan, 0.01), Attempt("cpsat", None, 0.4, "too large")),
    )


def test_the_gap_is_the_part_by_which_the_makespan_exceeds_the_bound():
    assert result(10.0, 8.0).gap == 0.25
    assert result(10.0, 8.0).status is PlanStatus.FEASIBLE


@pytest.mark.parametrize("bound", [10.0, 10.0 / (1 + 1e-7), 10.1])
def test_a_schedule_that_meets_its_bound_is_optimal(bound):
    assert result(10.0, bound).status is PlanStatus.OPTIMAL


@pytest.mark.parametrize(
    ("bound", "told"), [(10.0 / (1 + 1e-11), "optimal, gap 0 %:"), (10.0 / 1.001, "gap 0.1 %:")]
)
def test_a_gap_of_rounding_is_told_as_none(bound, told):
    assert told in repr(result(10.0, bound))


def test_nothing_is_known_about_a_schedule_without_a_bound():
    assert result(10.0, 0.0).gap == math.inf
    assert "feasible, no bound above 0 is known" in repr(result(10.0, 0.0))
    assert result(0.0, 0.0).status is PlanStatus.OPTIMAL


def test_a_result_survives_json():
    assert PlanResult.from_json(result().to_json()) == result()


@pytest.mark.parametrize("text", ["", "{}", "[1]", b"\xff", '{"format": "x"}'])
def test_what_is_no_result_is_refused(text):
    with pytest.raises(InvalidFormat, match="plan result"):
        PlanResult.from_json(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seconds", -1.0),
        ("seconds", math.nan),
        ("seconds", math.inf),
        ("seconds", "long"),
        ("seed", -1),
        ("seed", 1.5),
        ("iterations", math.inf),
        ("iterations", 2.5),
        ("gap", -0.1),
        ("gap", None),
    ],
)
def test_an_impossible_budget_is_refused_by_field(field, value):
    with pytest.raises(InvalidBudget, match=field):
        Budget(**{field: value})


def test_a_budget_survives_json():
    budget = Budget(seconds=1.5, seed=3, iterations=100, gap=0.01)
    assert Budget.from_json(budget.to_json()) == budget


@pytest.mark.parametrize("text", ["", "[]", '{"seconds": "long"}', '{"second": 9}', b"\xff"])
def test_what_is_no_budget_is_refused(text):
    with pytest.raises(InvalidFormat, match="budget"):
        Budget.from_json(text)


def test_a_budget_in_json_is_checked_like_any_other():
    with pytest.raises((InvalidBudget, InvalidFormat), match="seconds"):
        Budget.from_json('{"seconds": -1}')
