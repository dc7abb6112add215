"""What tasks said that they need of a device is planned with the next time."""

from __future__ import annotations

from itertools import pairwise

from orchestrator_core.costs.devices import DEVICE_MEMORY, MEBIBYTE
from orchestrator_core.costs.observation import Observation
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.learn.estimator import fit
from orchestrator_core.orchestrate.forecast import price
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.plan.portfolio import plan


def two_flows() -> TaskGraph:
    """Two tasks of one flow and two of another, which know nothing of each other."""
    builder = TaskGraph.build()
    for flow in "ab":
        for step in range(2):
            builder.task(f"{flow}-{step}", kind="train")
    return builder.done()


def observed(need: float | None) -> list[Observation]:
    return [Observation(f"a-{i}", "train", "w", "gpu", 10.0, device_memory=need) for i in range(4)]


def test_two_tasks_never_share_a_device_that_holds_one() -> None:
    cluster = Cluster([Worker("w", "gpu", threads=4, resources={DEVICE_MEMORY: 1000})])
    graph = two_flows()
    before = price(graph, cluster, fit(observed(None)))
    assert plan(before).schedule.makespan < 15, "as long as nothing is known all run at once"
    known = price(graph, cluster, fit(observed(600 * MEBIBYTE)))
    rows = sorted((row.start, row.end) for row in plan(known).schedule.assignments)
    assert all(end <= start for (_, end), (start, _) in pairwise(rows))
    again = price(graph, cluster, fit(observed(599.5 * MEBIBYTE)))
    assert Keys.of(known.graph, known.cluster) == Keys.of(again.graph, again.cluster)
