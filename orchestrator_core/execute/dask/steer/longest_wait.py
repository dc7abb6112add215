"""How long a ready task may be sent nowhere, before Dask takes that for a reason to fail it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator_core.execute.directives import Hold, Key

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler

PART = 0.5
"""Of the time that Dask gives such a task: it and we look at times of our own, on a loop that may
be busy."""


def longest_wait(scheduler: Scheduler) -> float:
    """Seconds, by the setting `distributed.scheduler.no-workers-timeout`; infinite without it."""
    timeout: float | None = getattr(scheduler, "no_workers_timeout", None)
    return math.inf if timeout is None else PART * timeout


def within(holds: Mapping[Key, Hold], seconds: float) -> dict[Key, Hold]:
    """The holds, none of them for longer than so many seconds."""
    return {
        key: hold if hold.patience <= seconds else replace(hold, patience=seconds)
        for key, hold in holds.items()
    }
