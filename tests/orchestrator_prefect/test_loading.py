"""What planning needs is loaded while Prefect starts a flow, unless planning is switched off."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from prefect.flows import Flow

from orchestrator_prefect import flow_object, loading, optimized_flow
from orchestrator_prefect.settings.options import Options


@pytest.fixture(autouse=True)
def nothing_loaded() -> Iterator[None]:
    loading.begin_loading.cache_clear()
    yield
    loading.begin_loading.cache_clear()


def test_it_is_done_once_and_nobody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on, done = threading.Event(), threading.Event()
    count: list[None] = []

    def load() -> None:
        goes_on.wait(10)
        count.append(None)
        done.set()

    monkeypatch.setattr(loading, "_load", load)
    loading.begin_loading()
    loading.begin_loading()
    assert not count
    goes_on.set()
    assert done.wait(10)
    assert len(count) == 1


@pytest.mark.parametrize(("mode", "begins"), [(None, True), ("observe", True), ("off", False)])
def test_a_flow_that_is_called_begins_it_unless_it_is_switched_off(
    monkeypatch: pytest.MonkeyPatch, mode: str | None, begins: bool
) -> None:
    found: list[str] = []
    monkeypatch.setattr(flow_object, "begin_loading", lambda: found.append("loading"))
    monkeypatch.setattr(Flow, "__call__", lambda *_, **__: found.append("flow"))
    made = flow_object.OptimizedFlow.of(optimized_flow(lambda: None), Options(mode=mode))  # type: ignore[arg-type]
    made()
    assert found == (["loading", "flow"] if begins else ["flow"])


def test_what_cannot_be_loaded_is_not_told_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever needs it meets the error, and says so."""
    monkeypatch.setitem(sys.modules, "orchestrator_core.orchestrate", None)
    loading._load()


def test_first_answers_are_loaded_and_no_compiler() -> None:
    program = (
        "import sys; from orchestrator_prefect.loading import _load; _load(); "
        "print('orchestrator_core.orchestrate.first_answer' in sys.modules, 'numba' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert told.stdout.split() == ["True", "False"], told.stderr
