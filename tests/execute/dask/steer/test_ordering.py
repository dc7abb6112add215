"""What is sent to a worker at once arrives in the order of the plan."""

from __future__ import annotations

from distributed import Client, Scheduler, Worker

from orchestrator_core.execute.dask.steer.ordering import in_order
from tests.execute.dask.advisors import FixedAdvisor, plugin_of
from tests.execute.dask.cluster import add, cluster_test, start, stop


def compute(key: str, *priority: int) -> dict[str, object]:
    return {"op": "compute-task", "key": key, "priority": priority}


def keys(messages: list[dict[str, object]]) -> list[object]:
    return [message.get("key", message["op"]) for message in messages]


def test_tasks_are_sorted_by_priority() -> None:
    assert keys(in_order([compute("c", 0, 2), compute("a", 0, 0), compute("b", 0, 1)])) == [*"abc"]


def test_no_task_passes_another_message() -> None:
    """A key may be freed and computed again in one message (a retry on the same worker)."""
    free = {"op": "free-keys", "keys": ["b"]}
    messages = [compute("z", 9), compute("a", 5), free, compute("c", 3), compute("b", 1)]
    assert keys(in_order(messages)) == ["a", "z", "free-keys", "b", "c"]


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
