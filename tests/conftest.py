"""Settings for all tests: property tests give the same examples on every run and every machine."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# Plans wait for code that has to be compiled first, so that they are the same on a new machine.
os.environ.setdefault("ORCHESTRATOR_COMPILE", "wait")

settings.register_profile(
    "orchestrator",
    derandomize=True,
    deadline=None,
    max_examples=50,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("orchestrator")


def pytest_sessionstart(session: pytest.Session) -> None:
    """The whole suite compiles the planner ahead, so that no single test's time counts it."""
    if session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        from orchestrator_core.plan.warm import compile_all, is_warm

        if not is_warm():
            compile_all()
