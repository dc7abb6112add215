"""Importing CP-SAT at half the price."""

from __future__ import annotations

import subprocess
import sys


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


def test_planning_keeps_it_out_of_the_caller_s_process() -> None:
    program = """
import sys
import orchestrator_core as oc
instance = oc.Instance.from_arrays([[2.0, 3.0], [2.0, 3.0]], [])
result = oc.plan(instance, oc.Budget(seconds=1.0))
print(result.makespan, "ortools" in sys.modules)
"""
    result = subprocess.run(
        [sys.executable, "-"], input=program, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["3.0", "False"]
