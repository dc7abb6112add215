"""Which of the ways to follow a plan this version of distributed allows.

The director replaces three methods on live objects, and a fourth, `send_all`, where it can. Each of
the three must exist, take what we expect, and be nobody else's replacement yet; else worker
restrictions, which every version has, must do.
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


def sends_messages(scheduler: Scheduler) -> bool:
    """Can the order be seen to in which workers hear of tasks? A plan is followed without, too."""
    return "send_all" not in vars(scheduler) and _parameters(type(scheduler), "send_all") == [
        "self",
        "client_msgs",
        "worker_msgs",
    ]


def choose(wanted: str, scheduler: Scheduler) -> str:
    """The mode to use: the wanted one, or the next below it that the scheduler allows."""
    possible = probe(scheduler)
    if wanted == "auto":
        return possible
    return max(wanted, possible, key=ORDER.index)


def _takes_a_task(owner: object, name: str) -> bool:
    """Is there such a method, unreplaced, with one argument `ts`?"""
    return name not in vars(owner) and _parameters(type(owner), name) == ["self", "ts"]


def _parameters(owner: type, name: str) -> list[str] | None:
    """The names of a method's parameters; None if there is no such method."""
    try:
        return list(inspect.signature(getattr(owner, name)).parameters)
    except (AttributeError, TypeError, ValueError):
        return None
