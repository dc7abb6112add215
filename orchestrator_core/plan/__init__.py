"""Stage 3, plan: who does what, when, and how good that is at least. Runs nothing.

In the order of reading: `schedule` and `budget`, what goes in and what comes out; `planner`, the
seam; `portfolio`, the entry; `list_planner` with `orders`, `balance`, `ranks`, `place`, the lists;
`decoder` with `expand`, `lanes`, `general` and `profiles`, the compiled engine under them; `bounds`
with `paths` and `area`, what is proven; `cpsat`, the exact planner; `retime`, an old schedule under
new durations; `check` with `checks`, the verifier that trusts none of them; `time_indexed`, the
oracle for tiny instances. This face loads none of the compiled code.

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
