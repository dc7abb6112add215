"""Which mode fits on which worker, and why a task fits nowhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.finer_kind import plain_kind
from orchestrator_core.graph.task_graph import Demand, Floats, TaskGraph
from orchestrator_core.words import two_sizes

MOST_TOLD = 3
"""Workers of which it is told what each of them lacks."""


def eligible_pairs(graph: TaskGraph, cluster: Cluster) -> NDArray[np.bool_]:
    """(m, w) does the mode fit on the idle worker, and may it run there?"""
    threads = np.array([worker.threads for worker in cluster.workers])
    memory = np.array([worker.memory for worker in cluster.workers])
    fits = graph.mode_threads[:, None] <= threads[None, :]
    fits &= needed_memory(graph)[:, None] <= memory[None, :]
    allowed = np.array(
        [[_offers(worker, demand) for worker in cluster.workers] for demand in graph.demands],
        dtype=bool,
    ).reshape(len(graph.demands), len(cluster))
    return np.asarray(fits & allowed[graph.demand_of], dtype=np.bool_)


def needed_memory(graph: TaskGraph) -> Floats:
    """(m,) bytes that a worker must have: while running (memory + inputs), then for the output."""
    inputs = np.zeros(len(graph))
    taken = np.minimum(graph.multiplicity, graph.count[graph.producer])
    np.add.at(inputs, graph.consumer, graph.output_bytes[graph.producer] * taken)
    used = np.diff(graph.successor_ptr) > 0
    task = graph.mode_task
    after = np.where(used, graph.output_bytes, 0.0)[task]
    return np.maximum(graph.mode_memory + inputs[task], after)


def _offers(worker: Worker, demand: Demand) -> bool:
    return _may_run(worker, demand) and all(
        worker.resources.get(r, 0.0) >= need for r, need in demand.resources.items()
    )


def _may_run(worker: Worker, demand: Demand) -> bool:
    called = {worker.name, worker.kind, plain_kind(worker.kind)}
    return demand.eligible is None or bool(called & set(demand.eligible))


def check_feasible(graph: TaskGraph, cluster: Cluster, seconds: Floats) -> None:
    """Each task can run somewhere, ends by its deadline there, and the stock suffices.

    Raises:
        InfeasibleInstance: naming the first task and the amount that is missing.
    """
    _check_places(graph, cluster, np.isfinite(seconds))
    _check_deadlines(graph, seconds)
    _check_stock(graph, cluster)


def check_places(graph: TaskGraph, cluster: Cluster) -> None:
    """Each task fits on some worker, however long it may take there.

    Raises:
        InfeasibleInstance: naming the first task and the amount that is missing.
    """
    _check_places(graph, cluster, eligible_pairs(graph, cluster))


def _check_places(graph: TaskGraph, cluster: Cluster, pairs: NDArray[np.bool_]) -> None:
    possible = pairs.any(axis=1)
    runs = np.logical_or.reduceat(possible, graph.mode_ptr[:-1]) if len(graph) else possible
    if not runs.all():
        task = int(np.argmin(runs))
        cause = _cause(graph, cluster, task)
        raise InfeasibleInstance(f"task {graph.names[task]!r} {cause}", task=graph.names[task])


def _alike(resource: str, cluster: Cluster) -> str:
    """Is it another spelling of what a worker has?"""
    offered = dict.fromkeys(name for worker in cluster.workers for name in worker.resources)
    meant = [name for name in offered if name != resource and name.lower() == resource.lower()]
    return f" (is {meant[0]!r} meant?)" if meant else ""


def _cause(graph: TaskGraph, cluster: Cluster, task: int) -> str:
    """What is missing, told for the task's first mode."""
    mode = int(graph.mode_ptr[task])
    demand, need = graph.demand(mode), int(graph.mode_threads[mode])
    most = max(cluster.workers, key=lambda worker: worker.threads)
    if need > most.threads:
        return f"needs {need} threads; the best worker, {most.name!r}, has {most.threads}"
    for resource, amount in demand.resources.items():
        best = max(cluster.workers, key=lambda worker: worker.resources.get(resource, 0.0))
        have = best.resources.get(resource, 0.0)
        if amount > have:
            other = _alike(resource, cluster)
            return (
                f"needs {amount:g} {resource}; the best worker, {best.name!r}, has {have:g}{other}"
            )
    memory = float(needed_memory(graph)[mode])
    large = max(cluster.workers, key=lambda worker: worker.memory)
    if memory > large.memory:
        wanted, offered = two_sizes(memory, large.memory)
        return (
            f"needs {wanted} of memory for itself and its inputs, or for its output; "
            f"the best worker, {large.name!r}, has {offered}"
        )
    if demand.eligible is not None:
        known = {w.name for w in cluster.workers} | {plain_kind(w.kind) for w in cluster.workers}
        if not known & set(demand.eligible):
            return (
                f"may run only on {list(demand.eligible)}; the workers' names and kinds are "
                f"{sorted(known)[:20]}"
            )
    lacks = [_lack(worker, demand, need, memory) for worker in cluster.workers]
    if not any(lacks):
        return "has no finite duration on any worker that offers what it needs"
    told = [
        f"{worker.name!r} {lack or 'has no finite duration'}"
        for worker, lack in zip(cluster.workers, lacks, strict=True)
    ]
    more = f", and so on for {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
    return f"has no worker that offers all that it needs: {', '.join(told[:MOST_TOLD])}{more}"


def _lack(worker: Worker, demand: Demand, threads: int, memory: float) -> str:
    """The first thing that a worker lacks for such a mode; nothing if it fits."""
    if not _may_run(worker, demand):
        return f"is none of {list(demand.eligible or ())}"
    if threads > worker.threads:
        return f"has {worker.threads} of {threads} threads"
    for resource, amount in demand.resources.items():
        if (have := worker.resources.get(resource, 0.0)) < amount:
            return f"has {have:g} of {amount:g} {resource}"
    if memory > worker.memory:
        wanted, offered = two_sizes(memory, worker.memory)
        return f"has {offered} of {wanted} of memory"
    return ""


def _check_deadlines(graph: TaskGraph, seconds: Floats) -> None:
    if not len(graph):
        return
    best = np.minimum.reduceat(seconds.min(axis=1), graph.mode_ptr[:-1])
    end = earliest_ends(graph, best)
    late = end * (1 - 1e-9) > graph.deadline  # as exact as schedules are checked
    if late.any():
        task = int(graph.topological[np.argmax(late[graph.topological])])
        raise InfeasibleInstance(
            f"task {graph.names[task]!r} cannot end by its deadline of {graph.deadline[task]:g} s: "
            f"even on the fastest workers with free transfers it ends at {end[task]:g} s",
            task=graph.names[task],
        )


def earliest_ends(graph: TaskGraph, best_seconds: Floats) -> Floats:
    """(n,) ends with unlimited workers, best durations and free transfers."""
    if not np.isfinite(graph.deadline).any():
        return graph.release + best_seconds
    start = np.array(graph.release).tolist()
    seconds, end = best_seconds.tolist(), [0.0] * len(graph)
    ptr, consumer = graph.successor_ptr.tolist(), graph.consumer.tolist()
    for task in graph.topological.tolist():
        end[task] = start[task] + seconds[task]
        for k in range(ptr[task], ptr[task + 1]):
            if end[task] > start[consumer[k]]:
                start[consumer[k]] = end[task]
    return np.array(end)


def _check_stock(graph: TaskGraph, cluster: Cluster) -> None:
    names = {name for demand in graph.demands for name in demand.consumes}
    for name in sorted(names):
        each = np.array([demand.consumes.get(name, 0.0) for demand in graph.demands])
        least = np.minimum.reduceat(each[graph.demand_of], graph.mode_ptr[:-1])
        total, have = float(least @ graph.count), cluster.stock.get(name, 0.0)
        if total > have * (1 + 1e-12):
            raise InfeasibleInstance(
                f"the tasks consume at least {total:g} {name} together; the cluster's stock is "
                f"{have:g}"
            )
