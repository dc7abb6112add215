"""What a scheduler of Dask's tests loads when it starts: the plugin, with a store of its own."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from distributed import Scheduler

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from tests.execute.dask.advisors import PricedAdvisor, scattered

FOLLOW = "ORCHESTRATOR_BENCH_FOLLOW"
"""Environment variable: is every graph to have a plan?"""


class Scatter(PricedAdvisor):
    """Spreads the tasks of every graph."""

    def __init__(self) -> None:
        super().__init__(scattered)

    def advise(
        self, graph: TaskGraph, cluster: Cluster, flow: str, objective: str | None = None
    ) -> Advice:
        return super().advise(graph, cluster, flow)


async def dask_setup(scheduler: Scheduler) -> None:
    """Called by Dask."""
    given: dict[str, Any] = {"store": f"{tempfile.mkdtemp()}/schedules.db"}
    if os.environ.get(FOLLOW):
        given = {"advisor": Scatter(), "mode": "director", "plan_wait": 5.0}
    plugin = OrchestratorPlugin(min_tasks=1, **given)
    await scheduler.register_scheduler_plugin(plugin, idempotent=True)
