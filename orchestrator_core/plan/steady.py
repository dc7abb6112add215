"""chains_first: the same placement, ordered so that delays hurt less (stage 3).

A schedule that was searched for its makespan alone leaves every chain without slack: whichever task
runs long, the end moves. With the same placement and the longest remaining chain always first (the
critical-path rule), the short ends are left for last and absorb delays.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.engine.ranks import ready_order
from orchestrator_core.plan.engine.retime import placement
from orchestrator_core.plan.schedule import Schedule


def chains_first(instance: Instance, schedule: Schedule) -> Schedule | None:
    """The schedule's placement with the longest remaining chain first; None if it does not fit.

    It may end later than `schedule`: whether it is worth that is for a simulation to say.
    """
    problem = expand(instance)
    _, worker, mode = placement(instance, problem, schedule)
    order = ready_order(problem, remaining(problem, worker, problem.seconds[mode, worker]))
    found = place(instance, Choice(order, worker=worker, mode=mode))
    return None if isinstance(found, str) else found


def remaining(problem: Problem, worker: Ints, seconds: Floats) -> Floats:
    """(n,) longest path from a task's start to the last end, transfers as placed; seconds."""
    rank = np.array(seconds)
    for t in problem.topological[::-1]:
        consumers = slice(problem.out_ptr[t], problem.out_ptr[t + 1])
        after = problem.out_task[consumers]
        if len(after):
            pair = worker[t], worker[after]
            way = problem.latency[pair] + problem.out_bytes[consumers] * problem.per_byte[pair]
            rank[t] += (np.where(worker[after] == worker[t], 0.0, way) + rank[after]).max()
    return rank
