"""No test remembers what another one has decided, and in none a rewrite fails unnoticed."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator_core.conductor import program
from orchestrator_core.conductor.planning.memory import MEMORY
from orchestrator_core.conductor.site import Site


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    MEMORY.forget()


@pytest.fixture
def forgiving() -> None:
    """In this test rewrites may fail."""


@pytest.fixture(autouse=True)
def no_rewrite_fails(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Users get what they had before; here it is an error."""
    if "forgiving" not in request.fixturenames:
        monkeypatch.setattr(program, "mended", _raised)
        monkeypatch.setattr(program, "given_up", _raised)
        monkeypatch.setattr(Site, "failed", _raised)


def _raised(*args: Any) -> Any:
    raise args[-1]
