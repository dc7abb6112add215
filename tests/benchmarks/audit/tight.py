"""Instances whose deadlines and memory are tighter, so that many of them have no schedule."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.graph import Task, TaskGraph
from tests.random_instances import with_memory


def tightened(seed: int, instance: Instance) -> Instance | None:
    """The same with other deadlines and less memory; None where it is refused at once."""
    rng = random.Random(seed)
    limited = [worker for worker in instance.cluster.workers if math.isfinite(worker.memory)]
    memory = {worker.name: float(rng.randint(4, 9)) for worker in limited}
    cluster = with_memory(instance.cluster, memory)
    tasks = [_tight_task(rng, task) for task in instance.graph.tasks()]
    graph = TaskGraph.from_tasks(tasks, instance.graph.edges())
    try:
        return Instance(graph, cluster, instance.seconds)
    except InfeasibleInstance:
        return None


def _tight_task(rng: random.Random, task: Task) -> Task:
    if rng.random() < 0.5:
        return task
    return replace(task, deadline=float((task.release or 0) + rng.randint(4, 12)))
