"""Stage 3, plan: who does what, when, and how good that is at least. Runs nothing.

In the order of reading: `schedule`, `budget` and `objective`, what goes in and what comes out;
`planner`, the seam, and `portfolio`, the entry, with `board`, `turns`, `together` and `phases`; the
planners, each package knowing only those before it:

    engine      the compiled decoder: from an order of tasks to a schedule
    bounds      what no schedule can be better than, with certificates
    lists       list heuristics: the first schedules, in milliseconds
    search      local search: better ones
    reduce      large graphs by fewer, larger tasks
    objectives  tardiness, price, memory, Pareto fronts, quantiles
    cpsat       the whole instance, windows of a schedule, sub-graphs, exactly
    crew        the helper's process in which solvers work
    repair      the rest of a running plan, planned anew
    realtime    hard deadlines and periodic flows, decided before anything runs

`check` with `checks` is the verifier that trusts none of them, `time_indexed` the oracle for tiny
instances. This face loads none of the compiled code.

The package is named like its main verb, so it can be called: ``orchestrator_core.plan(instance)``
is `portfolio.plan(instance)`, whether or not something has imported the package before.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.result import Attempt, PlanResult, PlanStatus
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer

__all__ = [
    "Assignment",
    "Attempt",
    "Budget",
    "PlanResult",
    "PlanStatus",
    "Schedule",
    "Transfer",
]


class _CallablePackage(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> PlanResult:
        from orchestrator_core.plan.portfolio import plan

        return plan(*args, **kwargs)


sys.modules[__name__].__class__ = _CallablePackage
