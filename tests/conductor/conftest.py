"""No test reads or writes what the user's own processes have decided."""

from __future__ import annotations

import pytest

from orchestrator_core.conductor.planning.memory import MEMORY


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHESTRATOR_PLAN_CACHE", "off")
    MEMORY.forget()
