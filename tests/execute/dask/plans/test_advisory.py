"""Where there is no advisor that is said once, with its reason; no run is called one too many."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from orchestrator_core.execute.advice import Advisor
from orchestrator_core.execute.dask.plans.advisory import Advisory


def test_runs_without_an_advisor_are_dropped_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    def none() -> Advisor:
        raise ValueError("no such store")

    run: Any = object()

    async def go() -> None:
        advisory = Advisory(none, lambda where, error: None, lambda clusters: None)
        advisory.start()
        assert await advisory.wait_closed(10.0)
        advisory.record(run)
        advisory.close()
        advisory.record(run)

    asyncio.run(go())
    said = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert said == ["no advisor, so nothing is planned or recorded: no such store"]
