"""Where there is no advisor that is said once, with its reason; no run is called one too many."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from orchestrator_core.execute.advice import Advisor
from orchestrator_core.execute.dask.plans.advisory import Advisory

NOBODY = "no advisor, so nothing is planned or recorded: no such store"


def test_runs_without_an_advisor_are_dropped_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    def none() -> Advisor:
        raise ValueError("no such store")

    run: Any = object()

    async def go() -> None:
        advisory = Advisory(none, lambda where, error: None, lambda clusters: None)
        advisory.start()
        assert await advisory.wait_closed(10.0)
        assert advisory.holdup == NOBODY
        advisory.record(run)
        advisory.close()
        advisory.record(run)

    asyncio.run(go())
    said = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert said == [NOBODY]


def test_an_advisor_that_cannot_be_made_ready_is_no_busy_one() -> None:
    class Broken:
        def warm_up(self) -> None:
            raise ValueError("no planner")

        def close(self) -> None: ...

    faults: list[str] = []

    async def go() -> None:
        broken: Any = Broken()
        advisory = Advisory(
            lambda: broken, lambda where, error: faults.append(where), lambda clusters: None
        )
        advisory.start()
        assert not await advisory.wait_ready(60.0)
        assert advisory.holdup == "nothing is planned: the advisor failed when it was made ready"
        advisory.close()
        assert await advisory.wait_closed(60.0)

    asyncio.run(go())
    assert faults == ["advisor.warm_up"]
