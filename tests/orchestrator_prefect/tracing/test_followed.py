"""A flow that is followed gives the graph that a run of it records, and nothing runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from prefect import flow

from orchestrator_core.execute.record import Burst
from orchestrator_core.graph.signature import graph_signature
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_prefect import OptimizedTaskRunner
from orchestrator_prefect.sending.flow_graph import flow_graph
from orchestrator_prefect.sending.waited_for import bursts
from orchestrator_prefect.tracing.trace import trace

from ..conftest import Advisor
from . import followed_flows


def edges(graph: TaskGraph) -> set[tuple[str, str, bool]]:
    """Producer, consumer, and whether anything is handed over."""
    return {(edge.producer, edge.consumer, bool(edge.nbytes)) for edge in graph.edges()}


def between_waits(bursts: Sequence[Burst]) -> list[tuple[int, set[str]]]:
    """How many tasks were submitted after which; a busy machine sends them in several goes."""
    found: list[tuple[int, set[str]]] = []
    for burst in bursts:
        if found and not burst.after:
            size, after = found[-1]
            found[-1] = (size + burst.size, after)
        else:
            found.append((burst.size, set(burst.after)))
    return found


def run(made: Any) -> None:
    """Run a flow to its end, of whatever sort it is."""

    async def to_the_end(answer: Any) -> None:
        if made.isgenerator:
            async for _ in answer:
                pass
        else:
            await answer

    answer = made()
    if made.isasync:
        asyncio.run(to_the_end(answer))
    elif made.isgenerator:
        list(answer)


QUICK = ("map_reduce", "waits", "many_results", "has_a_subflow", "is_async_generator")
"""Those that are run each time; a run with the server takes a second or two."""

FLOWS = [
    pytest.param(each, marks=() if each.__name__ in QUICK else pytest.mark.slow, id=each.__name__)
    for each in followed_flows.TABLE
]


@pytest.mark.parametrize("function", FLOWS)
def test_the_graph_is_that_of_a_run(
    function: Callable[..., Any], cluster: Any, advisor: Advisor
) -> None:
    runner = OptimizedTaskRunner(cluster=cluster, advisor=advisor, mode="observe", report=False)
    made = flow(name=f"followed-{function.__name__}", task_runner=runner)(function)
    followed_flows.RAN.clear()
    found = trace(made, {})
    assert (followed_flows.RAN, advisor.runs) == ([], [])
    run(made)
    (record,) = advisor.runs
    graph = flow_graph(found.submissions)
    assert found.flow == record.flow
    assert graph.names == record.graph.names
    assert [task.kind for task in graph.tasks()] == [task.kind for task in record.graph.tasks()]
    assert edges(graph) == edges(record.graph)
    assert graph_signature(graph).digest == record.graph_signature
    assert between_waits(bursts(found.submissions, {})) == between_waits(record.bursts)
