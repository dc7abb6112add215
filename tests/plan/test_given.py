"""Whatever takes an instance, a schedule or a budget says so of what is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator_core.errors import InvalidInput
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.objectives.pareto import pareto
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.realtime import feasibility
from tests.plan.papers import topcuoglu

INSTANCE: Any = topcuoglu()


@pytest.mark.parametrize("ask", [plan, pareto, feasibility])
@pytest.mark.parametrize("wrong", [None, INSTANCE.graph, "instance"])
def test_no_instance(ask: Callable[[Any], object], wrong: Any) -> None:
    with pytest.raises(InvalidInput, match=r"a plan is made of an Instance, not of a .*price\("):
        ask(wrong)


@pytest.mark.parametrize("ask", [plan, pareto, feasibility])
def test_no_budget(ask: Callable[[Any, Any], object]) -> None:
    with pytest.raises(InvalidInput, match="budget=2: expected a Budget"):
        ask(INSTANCE, 2)


def test_no_schedule() -> None:
    result = plan(INSTANCE, planners=["heft"])
    wrong: Any
    for wrong, message in (
        (result, r"is a PlanResult, .*give its \.schedule"),
        ("plan.json", "is a str, not a Schedule"),
    ):
        with pytest.raises(InvalidInput, match=f"the hint {message}"):
            plan(INSTANCE, planners=["heft"], hint=wrong)
        with pytest.raises(InvalidInput, match=f"the schedule {message}"):
            check_schedule(INSTANCE, wrong)


def test_objectives_of_a_front_as_text() -> None:
    with pytest.raises(InvalidInput, match="no criterion 'prize'"):
        pareto(INSTANCE, objectives="makespan,prize")
