"""An instance with only some of its deadlines (stage 3, real time)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from orchestrator_core.costs.instance import Instance


def with_deadlines(instance: Instance, tasks: Collection[int]) -> Instance:
    """The same instance where only these tasks, by position, have their deadlines."""
    graph = instance.graph
    deadline = np.full(len(graph), np.inf)
    kept = list(tasks)
    deadline[kept] = graph.deadline[kept]
    deadline.flags.writeable = False
    return Instance(replace(graph, deadline=deadline), instance.cluster, instance.seconds)


def bound_tasks(instance: Instance) -> list[int]:
    """Positions of the tasks with a deadline."""
    return [int(task) for task in np.flatnonzero(np.isfinite(instance.graph.deadline))]
