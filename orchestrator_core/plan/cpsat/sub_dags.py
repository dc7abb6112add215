"""SubDagPlanner: proves bounds by exact models of parts of the graph, one by one.

Where tasks have few inputs and transfers are as long as tasks, a bound must weigh, at each join,
to wait for a transfer against doing things one after the other, and each such decision touches the
next. Paths and linear programs see one join at a time; a window of a dozen tasks, solved exactly,
sees a few together, and the heads that it proves are what the next window begins with. With these
heads, parts as wide as the graph bound the makespan, up to the whole of it: see `sweep.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.bounds.limits import beyond
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Schedule

if TYPE_CHECKING:
    from orchestrator_core.plan.cpsat.sweep import Sweep


@dataclass(frozen=True, slots=True)
class SubDagPlanner:
    """Raises heads and tails by windows of tasks, and the bound by wide ones; solutions of one that
    holds all tasks are schedules.

    Attributes:
        largest: (task instances) x workers that are tried at most.
    """

    largest: int = 20_000
    lane: ClassVar[Lane] = Lane.HELPER

    @property
    def name(self) -> str:
        return "sub-dags"

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        """A word on the size, on a graph without edges, on pauses, or on the objective."""
        if any(instance.graph.checkpoint_sets):
            return "tasks with checkpoints: in its models they run in one piece"
        if instance.graph.n_edges == 0:
            return "a graph without edges: it has no paths to bound"
        return beyond(instance, objective, self.largest)

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        """Rising lower bounds; schedules where a window holds all tasks."""
        if brief.incumbent is None:
            yield Proposal(note="it needs a schedule to begin with")
            return
        from orchestrator_core.plan.cpsat.sweep import Sweep

        sweep, said = Sweep(expand(brief.instance), brief), None
        for _ in sweep.steps():
            yield self._proposal(sweep, said)
            said = sweep.schedule
        yield self._proposal(sweep, said)

    def _proposal(self, sweep: Sweep, said: Schedule | None) -> Proposal:
        """The bound, and the schedule if it is news."""
        schedule = None if sweep.schedule is said else sweep.schedule
        return Proposal(schedule, sweep.bound, sweep.note, method="exact sub-graphs")
