"""Holds of tasks as arrays for compiled code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from orchestrator_core.execute.directives import Hold, Key
from orchestrator_core.execute.simulate.kernel.planned import Plan
from orchestrator_core.graph.task_graph import Ints, TaskGraph
from orchestrator_core.plan.engine.expand import frozen


def plan_of(worker: Ints, graph: TaskGraph, first: Ints, holds: Mapping[str, Hold]) -> Plan:
    """Each unit on its worker. A hold of a task holds all its instances, until all instances of
    others are through; names that the graph does not know hold nothing.

    Args:
        worker: (u,) where each unit runs. first: (tasks + 1,) the first unit of each task.
    """
    u = len(worker)
    causes, patience = np.zeros(u, dtype=np.int64), np.zeros(u)
    pairs: list[tuple[int, int]] = []
    for name, hold in holds.items():
        awaited = {2 * unit for unit in _units(graph, first, hold.sent)}
        awaited |= {2 * unit + 1 for unit in _units(graph, first, hold.done)}
        for unit in _units(graph, first, [name]):
            # Nothing waits for itself.
            others = awaited - {2 * unit, 2 * unit + 1}
            causes[unit], patience[unit] = len(others), hold.patience
            pairs += [(cause, unit) for cause in others]
    cause, held = np.array(sorted(pairs), dtype=np.int64).reshape(len(pairs), 2).T
    number = np.bincount(cause, minlength=2 * u)
    return Plan(
        worker=frozen(worker),
        causes=frozen(causes),
        patience=frozen(patience),
        held_ptr=frozen(np.concatenate([[0], np.cumsum(number)]).astype(np.int64)),
        held=frozen(held),
    )


def _units(graph: TaskGraph, first: Ints, names: Iterable[Key]) -> list[int]:
    """The units of the tasks of these names."""
    known = [graph.index[name] for name in names if isinstance(name, str) and name in graph.index]
    return [unit for task in known for unit in range(first[task], first[task + 1])]
