"""Row: one case, measured."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.portfolio import plan
from tests.benchmarks.plan import pyjobshop, saga
from tests.benchmarks.plan.case import Case

WITHIN = 1e-6
"""Relative difference below which two makespans are equal."""


@dataclass(frozen=True)
class Row:
    """Makespans in seconds, None where there is none."""

    name: str
    group: str
    tasks: int
    workers: int
    ours: float
    bound: float
    method: str
    planner: str
    seconds: float
    heft: float | None = None
    saga: float | None = None
    saga_by: str = ""
    saga_ran: int = 0
    cpsat: float | None = None
    cpsat_bound: float | None = None
    cpsat_seconds: float | None = None
    best_known: float | None = None
    proven_known: bool = False

    @property
    def gap(self) -> float:
        """Proven: how far from the optimum at most."""
        return self.ours / self.bound - 1 if self.bound > 0 else (0.0 if self.ours == 0 else 1.0)

    @property
    def proven(self) -> bool:
        return self.gap <= WITHIN

    def over(self, other: float | None) -> float | None:
        """Ours over another makespan, or None."""
        return self.ours / other if other and math.isfinite(other) else None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "gap": self.gap, "proven": self.proven}


def measured(case: Case, seconds: float, saga_seconds: float, alone: bool, threads: int) -> Row:
    """Our plan, checked, then the others on the same instance, with the same time limit."""
    instance = case.make()
    began = time.perf_counter()
    result = plan(instance, Budget(seconds=seconds))
    took = time.perf_counter() - began
    check_schedule(instance, result.schedule)
    others: dict[str, Any] = {} if alone else {**_saga(instance, saga_seconds)}
    if not alone:
        others |= _pyjobshop(instance, seconds, threads)
    return Row(
        name=case.name,
        group=case.group,
        tasks=instance.graph.n_instances,
        workers=len(instance.cluster),
        ours=result.makespan,
        bound=result.lower_bound,
        method=result.bound_method,
        planner=result.planner,
        seconds=took,
        heft=_heft(instance),
        best_known=case.best_known,
        proven_known=case.proven,
        **others,
    )


def _heft(instance: Instance) -> float | None:
    schedule = next(LIST_PLANNERS[0].plan(Brief(instance))).schedule
    return schedule.makespan if schedule is not None else None


def _saga(instance: Instance, seconds: float) -> dict[str, Any]:
    if not saga.installed() or saga.trouble(instance) is not None:
        return {}
    found = saga.makespans(instance, seconds)
    if not found:
        return {}
    by = min(found, key=lambda name: found[name])
    return {"saga": found[by], "saga_by": by, "saga_ran": len(found)}


def _pyjobshop(instance: Instance, seconds: float, threads: int) -> dict[str, Any]:
    if not pyjobshop.installed() or pyjobshop.trouble(instance) is not None:
        return {}
    solve: Callable[..., pyjobshop.Solved] = pyjobshop.solve
    found = solve(instance, seconds, threads)
    return {
        "cpsat": found.makespan if math.isfinite(found.makespan) else None,
        "cpsat_bound": found.lower_bound,
        "cpsat_seconds": found.seconds,
    }
