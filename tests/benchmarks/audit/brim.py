"""Instances in which nothing is left over: deadlines and memory are of an optimal schedule."""

from __future__ import annotations

import random
from dataclasses import replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.graph import TaskGraph
from orchestrator_core.plan.schedule import Schedule
from tests.benchmarks.audit.drawn import Drawn
from tests.benchmarks.audit.oracle import answer_of
from tests.by_hand import memory_peak
from tests.random_instances import with_memory


def to_the_brim(seed: int, instance: Instance, tick: float) -> Drawn | None:
    """The same, with just enough time and memory for a schedule that is as short as can be; in some
    of them one deadline is a tick earlier. None where nobody knows such a schedule."""
    rng = random.Random(f"brim {seed}")
    schedule = answer_of(instance, "makespan", tick).schedule
    if schedule is None:
        return None
    deadline = _some_ends(rng, schedule)
    is_early = bool(deadline) and rng.random() < 0.5
    if is_early:
        early = rng.choice(sorted(deadline))
        deadline[early] = max(0.0, deadline[early] - tick)
    tasks = [
        replace(task, deadline=deadline.get(task.name, task.deadline))
        for task in instance.graph.tasks()
    ]
    cluster = instance.cluster
    if rng.random() < 0.6:
        peak = memory_peak(instance, schedule)
        cluster = with_memory(cluster, {name: most for name, most in peak.items() if most > 0})
    graph = TaskGraph.from_tasks(tasks, instance.graph.edges())
    try:
        return Drawn(Instance(graph, cluster, instance.seconds), tick)
    except InfeasibleInstance as refusal:
        return None if is_early else Drawn(instance, tick, str(refusal))


def _some_ends(rng: random.Random, schedule: Schedule) -> dict[str, float]:
    """When most of the tasks end."""
    ends: dict[str, float] = {}
    for run in schedule.assignments:
        ends[run.task] = max(ends.get(run.task, 0.0), run.end)
    return {name: end for name, end in ends.items() if rng.random() < 0.7}
