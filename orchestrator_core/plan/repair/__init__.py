"""Repair: the rest of a schedule, planned anew after something has happened (stage 3).

In the order of reading: `events`, `replan` and `result`, what goes in and what comes out; `basis`,
`planned` and `told`, the instance, the old plan and the events in positions; `observe`, `flights`,
`wishes` and `remains`, what is left; `placing`, `searching` and `restoring`, the compiled kernels
under `plain`; `begun`, `crowded` and `thrift` under `tight`, for constraints beyond threads;
`choosing`, `pausing`, `stock`, `blocking`, `rebuilding`, the decisions; `joining`, the new
schedule; `remainder` and `check`, the rest as an instance that `check_schedule` can judge.
"""

from __future__ import annotations

from orchestrator_core.plan.repair.check import check_replan
from orchestrator_core.plan.repair.events import (
    Event,
    Failed,
    Finished,
    Held,
    Occupied,
    Pausable,
    Running,
    Waiting,
    WorkerLost,
)
from orchestrator_core.plan.repair.replan import Repairer, replan
from orchestrator_core.plan.repair.result import Move, Replan

__all__ = [
    "Event",
    "Failed",
    "Finished",
    "Held",
    "Move",
    "Occupied",
    "Pausable",
    "Repairer",
    "Replan",
    "Running",
    "Waiting",
    "WorkerLost",
    "check_replan",
    "replan",
]
