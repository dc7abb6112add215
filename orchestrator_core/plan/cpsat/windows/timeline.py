"""Timeline: a schedule as flat arrays, with encodings as items beside the tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.decoder import capacity
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.ranks import ready_order
from orchestrator_core.plan.engine.retime import placement
from orchestrator_core.plan.schedule import Schedule

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Timeline:
    """n tasks, then the encodings that take time: k items; g groups that share a capacity.

    Attributes:
        makespan: seconds.
        worker, mode: (n,) of the tasks.
        start, end: (k,) seconds.
        rank: (k,) position by start; producers come before what they serve.
        precedence: (3, a) item, item, and the edge's position in ``problem.in_task``, or -1 from a
            task to its encoding.
        lag: (a,) seconds from start to start.
        sends: (2, k - n) task and destination of the encodings.
        uses: (2, u) group and item, sorted by group and rank. amount: (u,).
        supply: (g,) of group ``worker * (2 + resources) + kind``: threads, memory, resources.
    """

    instance: Instance
    problem: Problem
    makespan: float
    worker: Ints
    mode: Ints
    start: Floats
    end: Floats
    rank: Ints
    precedence: Ints
    lag: Floats
    sends: Ints
    uses: Ints
    amount: Floats
    supply: Floats

    @property
    def n_tasks(self) -> int:
        return len(self.worker)

    @property
    def late(self) -> float:
        """Seconds that count as rounding."""
        return 1e-9 * max(1.0, self.makespan)


def timeline(instance: Instance, schedule: Schedule) -> Timeline:
    """The schedule, which is valid for the instance, as arrays."""
    problem = expand(instance)
    row, worker, mode = placement(instance, problem, schedule)
    sends, sent, encoded = _encodings(instance, schedule)
    start = np.concatenate([schedule.start[row], sent])
    end = np.concatenate([schedule.end[row], encoded])
    precedence, lag = _precedence(problem, worker, sends, start, end)
    rank = _ranks(problem, start, sends)
    limit = capacity(problem)
    uses, amount = _uses(problem, limit, worker, mode, sends, start, end, rank)
    return Timeline(
        instance,
        problem,
        schedule.makespan,
        worker,
        mode,
        start,
        end,
        rank,
        precedence,
        lag,
        sends,
        uses,
        amount,
        limit.ravel(),
    )


def _encodings(instance: Instance, schedule: Schedule) -> tuple[Ints, Floats, Floats]:
    """((2, x) task and destination, starts, ends) of the encodings that take time."""
    long = np.flatnonzero(schedule.transfer_encoded > schedule.transfer_start)
    if not len(long):
        return np.zeros((2, 0), dtype=np.int64), np.zeros(0), np.zeros(0)
    graph = instance.graph
    first = np.cumsum(graph.count) - graph.count
    task = np.array([graph.index[name] for name in schedule.task_names], dtype=np.int64)
    place = np.array([instance.cluster.index[name] for name in schedule.worker_names])
    unit = first[task[schedule.transfer_task[long]]] + schedule.transfer_instance[long]
    there = place[schedule.transfer_destination[long]]
    sends = np.stack([unit, there]).astype(np.int64)
    return sends, schedule.transfer_start[long], schedule.transfer_encoded[long]


def _precedence(
    problem: Problem, worker: Ints, sends: Ints, start: Floats, end: Floats
) -> tuple[Ints, Floats]:
    """The arcs and lags of `Timeline`: from producers to consumers, by way of encodings."""
    n, w = problem.n_tasks, problem.n_workers
    consumer = np.repeat(np.arange(n), np.diff(problem.in_ptr))
    producer, there = problem.in_task, worker[consumer]
    key = sends[0] * w + sends[1]
    by_key = np.argsort(key, kind="stable")
    table = np.append(key[by_key], -1)
    at = np.searchsorted(table[:-1], producer * w + there)
    sent = table[at] == producer * w + there
    source = producer.copy()
    source[sent] = n + by_key[at[sent]]
    here = worker[producer]
    away = problem.latency[here, there] + problem.in_bytes * problem.per_byte[here, there]
    lag = end[source] - start[source] + np.where(here != there, away, 0.0)
    items = np.arange(n, n + sends.shape[1])
    edges = np.concatenate([np.arange(len(producer)), np.full(len(items), -1)])
    tails = np.concatenate([source, sends[0]])
    heads = np.concatenate([consumer, items])
    lags = np.concatenate([lag, end[sends[0]] - start[sends[0]]])
    return np.stack([tails, heads, edges]), lags


def _ranks(problem: Problem, start: Floats, sends: Ints) -> Ints:
    n = problem.n_tasks
    order = ready_order(problem, -start[:n])
    turn, moment = np.empty(n), np.empty(n)
    turn[order] = np.arange(n)
    moment[order] = np.maximum.accumulate(start[:n][order])
    when = np.concatenate([moment, np.maximum(start[n:], moment[sends[0]])])
    turns = np.concatenate([turn, turn[sends[0]] + 0.5])
    rank = np.empty(len(start), dtype=np.int64)
    rank[np.lexsort((turns, when))] = np.arange(len(start))
    return rank


def _uses(
    problem: Problem,
    limit: Floats,
    worker: Ints,
    mode: Ints,
    sends: Ints,
    start: Floats,
    end: Floats,
    rank: Ints,
) -> tuple[Ints, Floats]:
    """What takes which amount of which group, without groups that are never scarce."""
    kinds = limit.shape[1]
    taken = np.zeros((len(start), kinds))
    taken[: len(worker)] = amounts(problem)[mode]
    taken[len(worker) :, 0] = 1.0
    taken[end <= start] = 0.0
    place = np.concatenate([worker, worker[sends[0]]])
    # A group stays scarce though little is on it: a window may move anything there.
    item, kind = np.nonzero((taken > 0) & (taken.sum(axis=0) > limit)[place])
    group = place[item] * kinds + kind
    order = np.lexsort((rank[item], group))
    return np.stack([group, item])[:, order], taken[item, kind][order]


def amounts(problem: Problem) -> Floats:
    """(m, 2 + r) threads, memory and resources that a mode takes while it runs."""
    return np.column_stack([problem.threads, problem.memory, problem.demand]).astype(np.float64)
