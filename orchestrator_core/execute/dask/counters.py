"""Counters: what the plugin did on one scheduler since it was put there."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.execute.record import PlanRecord


@dataclass(slots=True)
class Counters:
    """Grow only; whoever does something adds to them, `status` and `metrics` read them.

    Attributes:
        graphs_planned, graphs_declined, graphs_observed: graphs that ended; their plan was
            followed, was not worth following, or was never made.
        placed: tasks sent to the worker that was planned for them.
        released: tasks that a plan had a worker for and that were left to Dask.
        moved: tasks taken from one worker's queue to another's.
        held: tasks kept back although they could have been sent.
        hung_removed: workers taken off the cluster because they no longer answered.
        plan_seconds: time spent on planning. gain_seconds: what the plans that were followed
            were expected to save against Dask's own policy.
        faults: errors of our own. withdrawn_at: when the plugin gave up, in seconds since 1970;
            None if it did not.
    """

    graphs_planned: int = 0
    graphs_declined: int = 0
    graphs_observed: int = 0
    placed: int = 0
    released: int = 0
    moved: int = 0
    held: int = 0
    replans: int = 0
    hung_removed: int = 0
    plan_seconds: float = 0.0
    gain_seconds: float = 0.0
    faults: int = 0
    withdrawn_at: float | None = None

    def graph_ended(self, plan: PlanRecord | None, adopted: bool) -> None:
        """A graph came to its end; `plan` is what was planned for it, if anything was."""
        if plan is None:
            self.graphs_observed += 1
            return
        self.plan_seconds += plan.planning_seconds
        if not adopted:
            self.graphs_declined += 1
            return
        self.graphs_planned += 1
        if plan.default_predicted is not None:
            self.gain_seconds += max(0.0, plan.default_predicted - plan.predicted)
