"""A plan in which a task is overtaken on its worker by one that was planned after it."""

from __future__ import annotations

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster, Link, Worker
from orchestrator_core.graph.task import Edge, Task
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer


def overtaken(
    first: float = 1.0, last: float = 4.0, latency: float = 0.0
) -> tuple[Instance, Schedule]:
    """p (w1) -> c (5 s, w2) -> d (w1), and t (4 s, w2) which needs nothing and is planned last.

    As planned it takes ``first + 5 + max(last, 4)`` s. But t is ready at once, so c begins when t
    has ended: 9 + last. With a latency, both are longer by once or twice that.
    """
    tasks = [
        Task("p", seconds=first),
        Task("c", seconds=5.0),
        Task("d", seconds=last),
        Task("t", seconds=4.0),
    ]
    graph = TaskGraph.from_tasks(tasks, [Edge("p", "c"), Edge("c", "d")])
    cluster = Cluster([Worker("w1"), Worker("w2")], Link(latency=latency))
    begin = first + latency
    ready = begin + 5.0 + latency
    plan = Schedule(
        [
            Assignment("p", "w1", 0.0, first),
            Assignment("c", "w2", begin, begin + 5.0),
            Assignment("d", "w1", ready, ready + last),
            Assignment("t", "w2", begin + 5.0, begin + 9.0),
        ],
        [
            Transfer("p", "w1", "w2", first, first, begin, 0.0),
            Transfer("c", "w2", "w1", begin + 5.0, begin + 5.0, ready, 0.0),
        ],
    )
    return Instance.price(graph, cluster), plan
