"""What is sent to a worker at once arrives in the order of the plan."""

from __future__ import annotations

from distributed import Client, Scheduler, Worker

from orchestrator_core.execute.dask.ordering import in_order
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.graphs import add, cluster_test, start, stop
from tests.execute.dask.test_control import plugin_of


def compute(key: str, *priority: int) -> dict[str, object]:
    return {"op": "compute-task", "key": key, "priority": priority}


def test_tasks_are_sorted_by_priority_and_all_else_stays() -> None:
    free = {"op": "free-keys", "keys": ["x"]}
    messages = [compute("c", 0, 2), free, compute("a", 0, 0), compute("b", 0, 1)]
    assert [m.get("key") for m in in_order(messages)] == ["a", None, "b", "c"]
    assert in_order(messages)[1] is free


def test_nothing_to_sort_is_nothing_to_copy() -> None:
    messages = [compute("a", 0), {"op": "free-keys"}]
    assert in_order(messages) is messages


@cluster_test(nthreads=[("127.0.0.1", 1)])
async def test_a_worker_begins_with_what_is_planned_first(
    c: Client, s: Scheduler, a: Worker
) -> None:
    advisor = FixedAdvisor(lambda graph, cluster: dict.fromkeys(graph.names, cluster.names[0]))
    plugin = plugin_of(advisor)
    await start(s, plugin)
    graph = {f"a{i}": (add,) for i in range(9)}
    await c.gather(c.get(graph, list(graph), sync=False))
    await stop(s, plugin)
    planned = [row.task for row in sorted(advisor.plans[0].assignments, key=lambda r: r.start)]
    done = [record.task for record in sorted(advisor.runs[0].tasks, key=lambda r: r.start)]
    assert done == planned
