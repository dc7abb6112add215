"""A plugin of pytest: what loads once in a process is loaded before Dask's tests look for threads
that they have left behind."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    from orchestrator_core.orchestrate import (  # noqa: F401
        at_once,
        decision,
        expect,
        schedules,
    )
    from orchestrator_core.plan.warm import warm_up

    config.addinivalue_line("markers", "flaky: of pytest-rerunfailures, which need not be there")
    warm_up()
