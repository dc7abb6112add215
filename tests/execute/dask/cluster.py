"""Small graphs with known results, and a cluster decorator with what the tests have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from distributed import Event, Scheduler
from distributed.utils_test import gen_cluster

from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.session import Session

TWO_WORKERS = [("127.0.0.1", 1), ("127.0.0.1", 1)]

NO_MEMORY: dict[str, Any] = {
    "worker_kwargs": {"memory_limit": 0, "validate": True},
    "scheduler_kwargs": {"validate": True},
}
"""For `cluster_test`: workers that never look at their memory."""

cluster_test: Callable[..., Callable[..., Any]] = partial(
    gen_cluster,
    client=True,
    nthreads=TWO_WORKERS,
    scheduler_kwargs={"validate": True},
    worker_kwargs={"validate": True},
    # What hangs does so for ever; machines may be slow.
    timeout=100,
    config={
        "distributed.admin.system-monitor.gil.enabled": False,
        # Or workers that a test has paused go on as soon as they see that there is memory left.
        "distributed.worker.memory.pause": False,
    },
)


def add(*numbers: int) -> int:
    return 1 + sum(numbers)


def wait_for(event: str, *inputs: Any) -> int:
    """1, once the event of that name is set."""
    Event(event).wait(timeout=80)
    return add()


async def until(condition: Callable[[], bool]) -> None:
    """Let others run until the condition holds; the test's own timeout is the limit."""
    while not condition():
        await asyncio.sleep(0.002)


def layers(width: int = 6, depth: int = 3, tag: str = "t") -> tuple[dict[str, Any], list[str]]:
    """Tasks in `depth` layers; each adds one to the sum of two tasks of the layer above.

    Returns the graph and the keys of the last layer, each of which is ``2**depth - 1``.
    """
    graph: dict[str, Any] = {}
    for layer in range(depth):
        for i in range(width):
            above = [f"{tag}-{layer - 1}-{i}", f"{tag}-{layer - 1}-{(i + 1) % width}"]
            graph[f"{tag}-{layer}-{i}"] = (add, *(above if layer else []))
    return graph, [f"{tag}-{depth - 1}-{i}" for i in range(width)]


def result(depth: int = 3) -> int:
    return 2**depth - 1


async def start(scheduler: Scheduler, plugin: OrchestratorPlugin) -> Session:
    """Put the plugin on the scheduler, without pickling, and wait until it can plan."""
    await scheduler.register_scheduler_plugin(plugin, idempotent=True)
    session = plugin.session
    assert session is not None
    if session.is_live:
        await session.advisory.wait_ready(10)
    return session


async def stop(scheduler: Scheduler, plugin: OrchestratorPlugin) -> None:
    """Take the plugin off and wait until all is written."""
    session = plugin.session
    scheduler.remove_plugin(plugin.name)
    assert session is not None
    assert await session.advisory.wait_closed(10)


def hooks(scheduler: Scheduler) -> Any:
    """What the scheduler is asked by, and which of its own methods were replaced."""
    replaced = {name for name in vars(scheduler) if callable(getattr(type(scheduler), name, None))}
    return set(scheduler.handlers), replaced, set(scheduler.plugins)
