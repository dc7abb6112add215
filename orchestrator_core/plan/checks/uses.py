"""Uses: which output is needed on which worker, from when to when. Derived from the edges alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.checks.rows import Rows, offsets


@dataclass(frozen=True, slots=True)
class Uses:
    """One row for each output of an edge and each worker that has consumers of it.

    Attributes:
        unit: whose output; worker: where it is needed; nbytes: the part that consumers wait for.
        first, last: seconds, the earliest start and the latest end of the consumers there.
        consumer: assignment of the consumer that starts first.
    """

    unit: Ints
    worker: Ints
    nbytes: Floats
    first: Floats
    last: Floats
    consumer: Ints


def uses_of(rows: Rows) -> Uses:
    """All uses. Linear in the schedule, also where all instances need all outputs of many."""
    graph = rows.instance.graph
    count = graph.count
    everyone = (graph.multiplicity == count[graph.producer]) & (count[graph.consumer] > 1)
    first = offsets(rows.instance)
    edge, unit, consumer = _paired(rows, np.flatnonzero(~everyone), first)
    start, end = rows.schedule.start, rows.schedule.end
    paired = Uses(
        unit, rows.worker[consumer], graph.nbytes[edge], start[consumer], end[consumer], consumer
    )
    if not everyone.any():
        return paired
    shared = _shared(rows, np.flatnonzero(everyone), first)
    columns = (
        np.concatenate([getattr(paired, name), getattr(shared, name)])
        for name in Uses.__dataclass_fields__
    )
    return Uses(*columns)


def _paired(rows: Rows, edges: Ints, first: Ints) -> tuple[Ints, Ints, Ints]:
    """(edge, unit, row of its consumer) where instance r takes outputs n*r .. n*r + n - 1."""
    graph = rows.instance.graph
    n = graph.multiplicity[edges]
    taken = n * graph.count[graph.consumer[edges]]
    which, output = spread(taken)
    edge = edges[which]
    unit = first[graph.producer[edge]] + output
    consumer = first[graph.consumer[edge]] + output // n[which]
    return edge, unit, rows.row_of[consumer]


def _shared(rows: Rows, edges: Ints, first: Ints) -> Uses:
    """The uses of edges that give all outputs to all instances, one for each worker."""
    graph, schedule = rows.instance.graph, rows.schedule
    which, number = spread(graph.count[graph.consumer[edges]])
    row = rows.row_of[first[graph.consumer[edges[which]]] + number]
    order = np.lexsort((schedule.start[row], rows.worker[row], which))
    which, row = which[order], row[order]
    new = np.ones(len(row), dtype=bool)
    new[1:] = (which[1:] != which[:-1]) | (rows.worker[row[1:]] != rows.worker[row[:-1]])
    group = np.flatnonzero(new)
    last = np.maximum.reduceat(schedule.end[row], group)
    edge, consumer = edges[which[group]], row[group]
    each, output = spread(graph.count[graph.producer[edge]])
    edge, consumer = edge[each], consumer[each]
    return Uses(
        unit=first[graph.producer[edge]] + output,
        worker=rows.worker[consumer],
        nbytes=graph.nbytes[edge],
        first=schedule.start[consumer],
        last=last[each],
        consumer=consumer,
    )


def spread(sizes: Ints) -> tuple[Ints, Ints]:
    """(group, place in the group) of every member of groups of these sizes."""
    group = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    begin = np.cumsum(sizes) - sizes
    return group, np.arange(len(group), dtype=np.int64) - begin[group]
