"""The report of a run of 10,000 tasks: seconds to make it, megabytes of HTML."""

from __future__ import annotations

import statistics
import time
from typing import Any

from orchestrator_core.report import render
from tests.report.runs import wide_run


def measure() -> dict[str, Any]:
    run = wide_run(10_000, 16)
    seconds, text = [], ""
    for _ in range(5):
        begun = time.perf_counter()
        text = render(run)
        seconds.append(time.perf_counter() - begun)
    return {
        "tasks": 10_000,
        "seconds": round(statistics.median(seconds), 3),
        "megabytes": round(len(text.encode()) / 1e6, 2),
    }
