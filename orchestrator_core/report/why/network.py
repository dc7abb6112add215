"""Network: a plan as tasks and transfers that wait for each other.

Threads, and resources in whole amounts, are dealt out one by one: whoever begins next takes those
that were free first. So a task waits for a place only where it could not have had one sooner.
Memory makes no arcs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.report.why.places import Claim, turns
from orchestrator_core.report.why.rows import Rows

INPUT, TRANSFER, WORKER, RESOURCE = "input", "transfer", "worker", "resource"

TOLERANCE = 1e-9
"""Part of the makespan, or of a second if that is more, by which times may be off."""


@dataclass(frozen=True, slots=True)
class Arc:
    """`after` may begin `lag` seconds after `before` began; both are nodes.

    Attributes:
        because: ``input``, ``transfer``, ``worker`` or ``resource``; `name` is the resource's.
    """

    before: int
    after: int
    lag: float
    because: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Network:
    """k assignments and x transfers; the nodes from k on are the transfers, in their order.

    Attributes:
        start, length: (k + x,) seconds. order: the nodes by start, producers first.
        into, out_of: (k + x,) the arcs of each node.
    """

    start: list[float]
    length: list[float]
    order: list[int]
    into: list[list[Arc]]
    out_of: list[list[Arc]]


def network_of(graph: TaskGraph, cluster: Cluster, schedule: Schedule) -> Network:
    """The network of a schedule of the graph on the cluster; every name must be known."""
    rows = Rows.of(graph, cluster, schedule)
    order = rows.order()
    into: list[list[Arc]] = [[] for _ in rows.start]
    out_of: list[list[Arc]] = [[] for _ in rows.start]
    for arc in (*_inputs(rows), *_places(rows, order)):
        into[arc.after].append(arc)
        out_of[arc.before].append(arc)
    return Network(rows.start, rows.length, order, into, out_of)


def _inputs(rows: Rows) -> Iterator[Arc]:
    """From producers to consumers, by way of the transfer where they are not on one worker."""
    for node, row in rows.senders():
        yield Arc(row, node, rows.length[row], INPUT)
    for edge, producer, consumer in rows.pairs():
        there = rows.worker[consumer]
        if rows.worker[producer] == there:
            yield Arc(producer, consumer, rows.length[producer], INPUT)
        elif (sent := rows.transfer_to(producer, there)) is not None:
            yield Arc(sent, consumer, rows.arrival(sent, edge, there), TRANSFER)


def _places(rows: Rows, order: list[int]) -> Iterator[Arc]:
    """Among what needs threads or resources of one worker."""
    slack = TOLERANCE * max(1.0, max(rows.start, default=0.0))
    pools: dict[tuple[int, str], list[Claim]] = {}
    for node in order:
        for worker, name, units in rows.needs(node):
            claim = Claim(node, rows.start[node], rows.start[node] + rows.busy[node], units)
            pools.setdefault((worker, name), []).append(claim)
    for (worker, name), claims in pools.items():
        for before, after in turns(claims, rows.capacity(worker, name), slack):
            yield Arc(before, after, rows.busy[before], RESOURCE if name else WORKER, name)
