"""Schedules under tighter and tighter memory: for what must not take much at any moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.engine.ranks import depth_first_order, ready_order, upward_rank
from orchestrator_core.plan.objectives.bounds import value_bound
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.schedule import Schedule

HALVINGS = 6
"""How often the range between what fits and what does not is halved, for each order."""


def with_memory(instance: Instance, most: float) -> Instance:
    """The instance on workers with at most so many bytes each.

    Raises:
        InfeasibleInstance: if some task fits nowhere then.
    """
    cluster = instance.cluster
    smaller = Cluster.from_matrices(
        [replace(w, memory=min(w.memory, most)) for w in cluster.workers],
        latency=cluster.latency,
        seconds_per_byte=cluster.seconds_per_byte,
        encode_seconds_per_byte=cluster.encode_seconds_per_byte,
        stock=cluster.stock,
    )
    return Instance(instance.graph, smaller, instance.seconds)


def memory_limits(instance: Instance) -> Iterator[Schedule]:
    """For each of a few orders, schedules whose peaks fall: the range of peaks is halved again and
    again, and the order decoded on workers with that much memory."""
    lowest = value_bound(instance, "memory").value
    for choice in _orders(instance):
        found = place(instance, choice)
        if isinstance(found, str):
            continue
        yield found
        low, high = lowest, evaluate(instance, found, "memory")[0]
        for _ in range(HALVINGS):
            if high <= low * (1 + 1e-6):
                break
            middle = (low + high) / 2
            tighter = _decoded(instance, choice, middle)
            if tighter is None:
                low = middle
            else:
                yield tighter
                high = min(middle, evaluate(instance, tighter, "memory")[0])


def _decoded(instance: Instance, choice: Choice, most: float) -> Schedule | None:
    try:
        found = place(with_memory(instance, most), choice)
    except InfeasibleInstance:
        return None
    return None if isinstance(found, str) else found


def _orders(instance: Instance) -> Iterator[Choice]:
    """By upward rank; depth first, the longest path first; depth first, the largest needs first."""
    problem = expand(instance)
    rank = upward_rank(problem, best_seconds(problem).min(axis=1), 0.0, 0.0)
    yield Choice(depth_first_order(problem, rank))
    n = problem.n_tasks
    consumer = np.repeat(np.arange(n), np.diff(problem.in_ptr))
    yield Choice(
        depth_first_order(
            problem,
            np.bincount(consumer, problem.output_bytes[problem.in_task], n).astype(np.float64),
        )
    )
    yield Choice(ready_order(problem, rank))
