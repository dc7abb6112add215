"""Topological order of a graph, and the cycle that forbids one."""

from __future__ import annotations

import numpy as np

from orchestrator_core.errors import InvalidGraph
from orchestrator_core.graph.task_graph import Ints

_SHOWN = 12


def topological_order(names: tuple[str, ...], producer: Ints, consumer: Ints, ptr: Ints) -> Ints:
    """The tasks, producers before consumers; insertion order where it is one already.

    Linear in tasks and edges (Kahn 1962), without recursion.

    Raises:
        InvalidGraph: with the tasks of a cycle, if there is one.
    """
    n = len(names)
    if bool((producer < consumer).all()):
        return np.arange(n, dtype=np.int64)
    waiting = np.bincount(consumer, minlength=n).tolist()
    order = [i for i in range(n) if waiting[i] == 0]
    begin, targets = ptr.tolist(), consumer.tolist()
    for task in order:  # grows while it is walked
        for k in range(begin[task], begin[task + 1]):
            other = targets[k]
            waiting[other] -= 1
            if waiting[other] == 0:
                order.append(other)
    if len(order) < n:
        raise InvalidGraph(_cycle_message(names, _cycle(waiting, begin, targets)))
    return np.array(order, dtype=np.int64)


def _cycle(waiting: list[int], begin: list[int], targets: list[int]) -> list[int]:
    """A cycle among the tasks that still wait: walk backwards along waiting producers."""
    before: dict[int, int] = {}
    for task, count in enumerate(waiting):
        if count > 0:
            for k in range(begin[task], begin[task + 1]):
                if waiting[targets[k]] > 0:
                    before[targets[k]] = task
    task, seen = next(iter(before)), set[int]()
    while task not in seen:
        seen.add(task)
        task = before[task]
    cycle, start = [task], task
    while before[task] != start:
        task = before[task]
        cycle.append(task)
    return [start, *reversed(cycle)]


def _cycle_message(names: tuple[str, ...], cycle: list[int]) -> str:
    shown = [repr(names[task]) for task in cycle]
    if len(shown) > _SHOWN:
        left = len(shown) - _SHOWN
        shown = [*shown[: _SHOWN // 2], f"... {left} more ...", *shown[-_SHOWN // 2 :]]
    return (
        f"the graph has a cycle: {' -> '.join(shown)}; "
        "a task cannot wait for its own result: remove one of these edges"
    )
