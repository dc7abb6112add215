"""Compiled code is there before an event loop has to wait for it."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.engine.retime import retime
from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_core.plan.warm_parts import RUNS


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """All that a repair may call: where nothing is on disk, that takes longer than a test may."""
    RUNS["repair"]()
    instance = Instance.from_arrays(np.ones((2, 2)), [(0, 1, 1.0)])
    retime(instance, Schedule([Assignment(f"t{i}", "w0", i, i + 1.0) for i in (0, 1)]))
