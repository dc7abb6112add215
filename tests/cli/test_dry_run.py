"""The figures of a dry run belong together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator_core.cli.dry_run import DryRun


def test_bound_and_gap_count_from_the_first_submission() -> None:
    """2 s until the first task, then 6 s where 4 are proven: 8 over 6."""
    nothing: Any = None
    result: Any = SimpleNamespace(makespan=6.0, lower_bound=4.0)
    dry = DryRun("flow", nothing, nothing, result, "miss", (), predicted=8.5, lead=2.0)
    assert dry.bound == 6.0
    assert dry.gap == pytest.approx(8 / 6 - 1)
