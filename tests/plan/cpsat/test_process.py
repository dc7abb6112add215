from __future__ import annotations

import subprocess
import sys
import time

import pytest

from orchestrator_core.plan.cpsat import process
from orchestrator_core.plan.cpsat.wire import Limits, encode_question
from tests.plan.known import KNOWN


def _question() -> bytes:
    return encode_question(KNOWN[6].instance, None, 0.0, Limits(time.time() + 60.0))


def test_solves_in_a_process_of_its_own() -> None:
    outcome = process.ask(_question(), 60.0)
    assert outcome.complete, outcome.trouble
    assert outcome.answer is not None
    assert outcome.answer.lower_bound == KNOWN[6].optimum


def test_a_process_that_crashes_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "command", lambda: [sys.executable, "-c", "import os; os.abort()"])
    assert "failed (signal 6)" in process.ask(_question(), 60.0).trouble


def test_cp_sat_is_imported_without_pandas() -> None:
    """Its import would take most of the start of a process."""
    program = """
import sys
from orchestrator_core.plan.cpsat.importing import import_cp_sat
import_cp_sat()
print("ortools" in sys.modules, "pandas" in sys.modules)
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["True", "False"]
