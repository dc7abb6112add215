"""Which of the ways to follow a plan this version of distributed allows.

The director replaces three methods on live objects. Each must exist, take what we expect, and be
nobody else's replacement yet; else worker restrictions, which every version has, must do.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from distributed.scheduler import TaskState

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler

ORDER = ("director", "restrict", "observe", "off")
"""From the best that can be to nothing."""

SCHEDULER_METHODS = ("is_rootish", "decide_worker_non_rootish")
STEALING_METHODS = ("steal_time_ratio",)
RESTRICTIONS = ("worker_restrictions", "loose_restrictions", "priority")


def probe(scheduler: Scheduler) -> str:
    """The best mode that the scheduler allows: "director", "restrict" or "observe"."""
    stealing = scheduler.extensions.get("stealing")
    methods = all(_takes_a_task(scheduler, name) for name in SCHEDULER_METHODS)
    if methods and (
        stealing is None or all(_takes_a_task(stealing, name) for name in STEALING_METHODS)
    ):
        return "director"
    if all(hasattr(TaskState, name) for name in RESTRICTIONS):
        return "restrict"
    return "observe"


def choose(wanted: str, scheduler: Scheduler) -> str:
    """The mode to use: the wanted one, or the next below it that the scheduler allows."""
    possible = probe(scheduler)
    if wanted == "auto":
        return possible
    return max(wanted, possible, key=ORDER.index)


def _takes_a_task(owner: object, name: str) -> bool:
    """Is there such a method, unreplaced, with one argument `ts`?"""
    method = getattr(type(owner), name, None)
    if method is None or name in vars(owner):
        return False
    try:
        parameters = list(inspect.signature(method).parameters)
    except (TypeError, ValueError):
        return False
    return parameters == ["self", "ts"]
