"""CoarseSearch: large graphs by fewer, larger tasks: coarsen, solve, un-coarsen (stage 3)."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.reduce.coarsen import coarsen
from orchestrator_core.plan.reduce.contract import contracted
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.local_search import LocalSearch

SECONDS_PER_TASK = 3e-5
"""Time to merge tasks, for each of them: one step that cannot be left."""


@dataclass(frozen=True, slots=True)
class CoarseSearch:
    """Merges tasks until about `few` are left, searches there, and comes back with the order and
    the places.

    Attributes:
        smallest: fewest task instances; for fewer, the search itself moves fast enough.
        few: groups that coarsening aims at.
        share: part of the budget's seconds that it takes.
    """

    smallest: int = 3_000
    few: int = 1_000
    share: float = 0.35
    name: str = "coarsen"
    lane: ClassVar[Lane] = Lane.SEARCH

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        if instance.graph.n_instances < self.smallest:
            return (
                f"it is for {self.smallest} tasks and more; here are {instance.graph.n_instances}"
            )
        if objective != MAKESPAN:
            return f"it minimises the makespan, not {objective}"
        if np.isfinite(instance.graph.deadline).any():
            return "it takes no deadlines"
        return LocalSearch(largest=10**9).unsupported(instance)

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        began = time.perf_counter()
        merging = brief.instance.graph.n_instances * SECONDS_PER_TASK
        if brief.budget.iterations is None and merging > self.share * brief.budget.seconds:
            yield Proposal(note="was not tried: merging tasks would take all of its time")
            return
        group, groups = coarsen(brief.instance, self.few)
        yield Proposal(note=f"{groups} groups of tasks")
        coarse = contracted(brief.instance, group, groups)
        if coarse is None or groups == len(group):
            yield Proposal(note="no tasks to merge")
            return
        seconds = self.share * brief.budget.seconds - (time.perf_counter() - began)
        budget = dataclasses.replace(brief.budget, seconds=max(0.0, seconds))
        best: Schedule | None = None
        for found in self._search(coarse, budget):
            best = found or best
            yield Proposal()
        if best is not None:
            schedule = _uncoarsened(brief.instance, group, best)
            yield Proposal(schedule, note=f"by {groups} groups of tasks", seed=schedule)

    def _search(self, coarse: Instance, budget: Budget) -> Iterator[Schedule | None]:
        """Better and better schedules of the groups, and None in between."""
        brief = Brief(coarse, budget)
        for planner in (*LIST_PLANNERS, LocalSearch()):
            for proposal in planner.plan(brief):
                found, best = proposal.schedule, brief.incumbent
                if found is not None and (best is None or found.makespan < best.makespan):
                    brief.incumbent = found
                    yield found
                else:
                    yield None


def _uncoarsened(instance: Instance, group: Ints, coarse: Schedule) -> Schedule | None:
    """The schedule of the tasks in the order and at the places of their groups."""
    problem = expand(instance)
    start, worker = np.empty(len(coarse)), np.empty(len(coarse), dtype=np.int64)
    number = np.array([int(name[1:]) for name in coarse.task_names])[coarse.task]
    at = np.array([instance.cluster.index[name] for name in coarse.worker_names])[coarse.worker]
    start[number], worker[number] = coarse.start, at
    depth = np.empty(problem.n_tasks, dtype=np.int64)
    depth[problem.topological] = np.arange(problem.n_tasks)
    order = np.lexsort((depth, start[group]))
    found = place(instance, Choice(order, worker[group]))
    return found if isinstance(found, Schedule) else None
