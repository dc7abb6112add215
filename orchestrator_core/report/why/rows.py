"""Rows: a schedule in the positions of its graph and cluster, as the network asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Schedule

MOST_UNITS = 1024
"""Of a resource with more than so many units, or with parts of them, nothing is said."""


@dataclass(frozen=True, slots=True)
class Rows:
    """k assignments and x transfers; nodes are both, the assignments first.

    Attributes:
        start, length, busy: (k + x,) seconds; `busy` is how long a thread is kept.
        task: (k + x,) position of the task. worker: (k + x,) where a thread is kept.
        mode: (k,) position among all modes.
        unit: (task, instance) to the assignment. sent: (assignment, destination) to the transfer.
    """

    graph: TaskGraph
    cluster: Cluster
    start: list[float]
    length: list[float]
    busy: list[float]
    task: list[int]
    worker: list[int]
    mode: list[int]
    unit: dict[tuple[int, int], int]
    sent: dict[tuple[int, int], int]

    @staticmethod
    def of(graph: TaskGraph, cluster: Cluster, schedule: Schedule) -> Rows:
        """The rows; KeyError for a name that is not known."""
        places = [graph.index[name] for name in schedule.task_names]
        workers = [cluster.index[name] for name in schedule.worker_names]
        own = [places[t] for t in schedule.task.tolist()]
        moved = [places[t] for t in schedule.transfer_task.tolist()]
        unit = {pair: i for i, pair in enumerate(zip(own, schedule.instance.tolist(), strict=True))}
        pairs = zip(moved, schedule.transfer_instance.tolist(), strict=True)
        there = [workers[w] for w in schedule.transfer_destination.tolist()]
        routes = zip(pairs, there, strict=True)
        ends = [*schedule.end.tolist(), *schedule.transfer_end.tolist()]
        free = [*schedule.end.tolist(), *schedule.transfer_encoded.tolist()]
        start = [*schedule.start.tolist(), *schedule.transfer_start.tolist()]
        first = graph.mode_ptr.tolist()
        return Rows(
            graph,
            cluster,
            start,
            [end - begin for begin, end in zip(start, ends, strict=True)],
            [end - begin for begin, end in zip(start, free, strict=True)],
            [*own, *moved],
            [workers[w] for w in (*schedule.worker.tolist(), *schedule.transfer_source.tolist())],
            [first[t] + mode for t, mode in zip(own, schedule.mode.tolist(), strict=True)],
            unit,
            {(unit[pair], w): len(own) + x for x, (pair, w) in enumerate(routes) if pair in unit},
        )

    def order(self) -> list[int]:
        """The nodes by start; of those that begin together, producers first, tasks first."""
        rank = [0] * len(self.graph)
        for turn, task in enumerate(self.graph.topological.tolist()):
            rank[task] = 2 * turn
        sending = len(self.mode)
        return sorted(
            range(len(self.start)),
            key=lambda n: (self.start[n], rank[self.task[n]] + (n >= sending), n),
        )

    def senders(self) -> Iterator[tuple[int, int]]:
        """(transfer, the assignment that makes what it sends)."""
        for (row, _), node in self.sent.items():
            yield node, row

    def pairs(self) -> Iterator[tuple[int, int, int]]:
        """(edge, producing assignment, consuming assignment), of what is planned."""
        graph = self.graph
        many = graph.multiplicity.tolist()
        made, taken = graph.count[graph.producer].tolist(), graph.count[graph.consumer].tolist()
        ends = zip(graph.producer.tolist(), graph.consumer.tolist(), strict=True)
        for edge, (producer, consumer) in enumerate(ends):
            n, everyone = many[edge], many[edge] == made[edge]
            for number in range(taken[edge]):
                outputs = range(n) if everyone else range(n * number, n * number + n)
                after = self.unit.get((consumer, number))
                for output in outputs:
                    before = self.unit.get((producer, output))
                    if before is not None and after is not None:
                        yield edge, before, after

    def transfer_to(self, row: int, worker: int) -> int | None:
        """The transfer of the assignment's output to the worker."""
        return self.sent.get((row, worker))

    def arrival(self, node: int, edge: int, destination: int) -> float:
        """Seconds from the start of a transfer until the part that the edge needs is there."""
        part, whole = self.graph.nbytes[edge], self.graph.output_bytes[self.task[node]]
        if part >= whole:
            return self.length[node]
        way = self.cluster.transfer_seconds(self.worker[node], destination, float(part))
        return min(self.length[node], self.busy[node] + way)

    def needs(self, node: int) -> Iterator[tuple[int, str, int]]:
        """(worker, resource, units) that it keeps while it is busy; threads have no name."""
        if self.busy[node] <= 0:
            return
        worker = self.worker[node]
        if node >= len(self.mode):
            yield worker, "", 1
            return
        mode = self.mode[node]
        yield worker, "", int(self.graph.mode_threads[mode])
        for name, amount in self.graph.demand(mode).resources.items():
            have = self.cluster.workers[worker].resources.get(name, 0.0)
            if amount == int(amount) and 0 < amount <= have <= MOST_UNITS:
                yield worker, name, int(amount)

    def capacity(self, worker: int, name: str) -> int:
        """Units that the worker has of its threads, or of a resource."""
        has = self.cluster.workers[worker]
        return int(has.resources.get(name, 0.0)) if name else has.threads
