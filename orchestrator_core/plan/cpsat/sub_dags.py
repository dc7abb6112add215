"""SubDagPlanner: proves bounds by exact models of a task and its nearest ancestors, one by one.

Where tasks have few inputs and transfers are as long as tasks, a bound must weigh, at each join,
to wait for a transfer against doing things one after the other, and each such decision touches the
next. Paths and linear programs see one join at a time; a window of a dozen tasks, solved exactly,
sees a few together, and the heads that it proves are what the next window begins with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.bounds.limits import beyond
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal

PASSES = ((8, 0.05), (12, 0.15), (16, 0.4), (20, 1.0), (24, 3.0))
"""(ancestors, seconds) of the windows, pass by pass over all tasks, forward and backward."""

WORK_PER_ITERATION = 1e-3
"""Deterministic units of work for each iteration of a budget: a thousand are about a second."""


@dataclass(frozen=True, slots=True)
class SubDagPlanner:
    """Raises heads and tails by windows of tasks; proposes bounds only.

    Attributes:
        largest: (task instances) x workers that are tried at most.
    """

    largest: int = 20_000
    lane: ClassVar[Lane] = Lane.HELPER

    @property
    def name(self) -> str:
        return "sub-dags"

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        """A word on the size, on a graph without edges, or on the objective."""
        if instance.graph.n_edges == 0:
            return "a graph without edges: it has no paths to bound"
        return beyond(instance, objective, self.largest)

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        """Rising lower bounds."""
        if brief.incumbent is None:
            yield Proposal(note="it needs a schedule to begin with")
            return
        from orchestrator_core.plan.cpsat.sweep import Sweep

        sweep = Sweep(expand(brief.instance), brief)
        for _ in sweep.steps():
            yield Proposal(lower_bound=sweep.bound, note=sweep.note)
