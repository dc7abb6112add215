"""CP-SAT through PyJobShop, on instances that its model can express."""

from __future__ import annotations

import contextlib
import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.engine.decoder import encodes
from orchestrator_core.plan.engine.expand import Problem, expand


@dataclass(frozen=True)
class Solved:
    """What it found; all in seconds."""

    makespan: float
    lower_bound: float
    seconds: float


def installed() -> bool:
    with contextlib.suppress(ImportError):
        return importlib.import_module("pyjobshop") is not None
    return False


def trouble(instance: Instance) -> str | None:
    """Why PyJobShop cannot express the instance, or None."""
    problem = expand(instance)
    if problem.n_workers > 1 and len(problem.in_task) and _travels(problem):
        return "transfers take time"
    if encodes(problem) or problem.memory.any():
        return "encoding or memory"
    times = np.concatenate([problem.seconds.ravel(), problem.release, problem.deadline])
    times = times[np.isfinite(times)]
    if (times != np.rint(times)).any():
        return "times that are not whole"
    return None


def solve(instance: Instance, seconds: float, threads: int) -> Solved:
    """Its best makespan and bound within the time limit."""
    library: Any = importlib.import_module("pyjobshop")
    model, problem = library.Model(), expand(instance)
    units = _Units(model, instance, problem)
    tasks = []
    for t in range(problem.n_tasks):
        late = problem.deadline[t]
        limit = {"latest_end": int(late)} if np.isfinite(late) else {}
        task = model.add_task(earliest_start=int(problem.release[t]), **limit)
        for m in range(problem.mode_begin[t], problem.mode_end[t]):
            for b in units.workers:
                if np.isfinite(problem.seconds[m, b]):
                    resources, demands = units.of(m, b)
                    model.add_mode(task, resources, int(problem.seconds[m, b]), demands)
        tasks.append(task)
    for t in range(problem.n_tasks):
        for k in range(problem.in_ptr[t], problem.in_ptr[t + 1]):
            model.add_end_before_start(tasks[problem.in_task[k]], tasks[t])
    result = model.solve(time_limit=seconds, display=False, num_workers=threads)
    return Solved(float(result.objective), float(result.lower_bound), float(result.runtime))


def _travels(problem: Problem) -> bool:
    return bool(problem.latency.any() or (problem.per_byte.any() and problem.in_bytes.any()))


class _Units:
    """PyJobShop's resources: threads and amounts of each worker, and the stock of the cluster.

    Workers that are equal, with nothing but threads for tasks of one thread, count as one.
    """

    def __init__(self, model: Any, instance: Instance, problem: Problem) -> None:
        self.graph, self.problem, cluster = instance.graph, problem, instance.cluster
        first = np.arange(problem.n_workers)
        if not problem.supply.any() and not (problem.threads > 1).any():
            _, index, inverse = np.unique(
                problem.seconds, axis=1, return_index=True, return_inverse=True
            )
            first = index[inverse.ravel()]
        self.workers = sorted({int(b) for b in first})
        total = {b: int(problem.worker_threads[first == b].sum()) for b in self.workers}
        most = problem.n_tasks * int(problem.threads.max(initial=1))
        self.threads = {
            b: model.add_renewable(total[b]) for b in self.workers if total[b] < most
        }  # fmt: skip
        self.amounts = {
            (b, name): model.add_renewable(int(cluster.workers[b].resources[name]))
            for b in self.workers
            for name in cluster.workers[b].resources
        }
        self.stock = {
            name: model.add_consumable(int(cluster.stock[name])) for name in cluster.stock
        }

    def of(self, m: int, b: int) -> tuple[list[Any], list[int]]:
        """(resources, demands) of mode m on worker b."""
        demand = self.graph.demand(m)
        pairs = [(self.threads[b], int(self.problem.threads[m]))] if b in self.threads else []
        pairs += [(self.amounts[b, name], int(v)) for name, v in demand.resources.items() if v]
        pairs += [(self.stock[name], int(v)) for name, v in demand.consumes.items() if v]
        return [unit for unit, _ in pairs], [amount for _, amount in pairs]
