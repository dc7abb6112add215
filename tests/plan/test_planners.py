"""Every registered planner takes the exam of `tests/contracts/planner_contract.py`."""

from __future__ import annotations

import pytest

from orchestrator_core.plan.planner import Planner
from orchestrator_core.plan.portfolio import registered
from tests.contracts.planner_contract import PlannerContract


@pytest.fixture(params=registered(), ids=lambda planner: planner.name, scope="module")
def registered_planner(request: pytest.FixtureRequest) -> Planner:
    planner: Planner = request.param
    return planner


class TestRegisteredPlanners(PlannerContract):
    @pytest.fixture
    def planner(self, registered_planner: Planner) -> Planner:
        return registered_planner


def test_names_are_unique() -> None:
    names = [planner.name for planner in registered()]
    assert len(set(names)) == len(names)
