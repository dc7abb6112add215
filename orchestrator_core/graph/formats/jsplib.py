"""Job shops in the standard text of JSPLIB and the OR-Library.

The number of jobs and of machines; then for each job as many pairs of machine (from 0) and
duration as there are machines, in the order in which the job visits them.
"""

from __future__ import annotations

from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.formats.source import Source
from orchestrator_core.graph.task_graph import TaskGraph


def read(source: Source) -> tuple[TaskGraph, Cluster | None]:
    """Operations `j<job>.<position>` in chains, each eligible on its machine; a worker a machine.

    A unit of time is read as a second. Worker `machine<k>` has one thread.

    Raises:
        InvalidFormat: naming the line, what was expected and what was found.
    """
    words = source.words()
    n = words.integer("the number of jobs", least=1)
    m = words.integer("the number of machines", least=1)
    builder = TaskGraph.build()
    for job in range(n):
        for position in range(m):
            label = f"operation {position} of job {job}"
            machine = f"machine{words.integer(f'the machine of {label}', most=m - 1)}"
            builder.task(
                f"j{job}.{position}",
                kind=machine,
                seconds=words.number(f"the duration of {label}"),
                eligible=[machine],
                after=[f"j{job}.{position - 1}"] if position else [],
            )
    words.end(f"job {n - 1}, the last one")
    names = [f"machine{k}" for k in range(m)]
    return builder.done(), Cluster([Worker(name, kind=name) for name in names])
