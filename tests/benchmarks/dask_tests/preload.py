"""What a scheduler of Dask's tests loads when it starts: the plugin, with a store of its own."""

from __future__ import annotations

import os
import tempfile

from distributed import Scheduler

from orchestrator_core.execute.dask import OrchestratorPlugin
from tests.execute.dask.advisors import PricedAdvisor, plugin_of, scattered

FOLLOW = "ORCHESTRATOR_BENCH_FOLLOW"
"""Environment variable: is every graph to have a plan?"""


async def dask_setup(scheduler: Scheduler) -> None:
    """Called by Dask."""
    if os.environ.get(FOLLOW):
        plugin = plugin_of(PricedAdvisor(scattered))
    else:
        plugin = OrchestratorPlugin(store=f"{tempfile.mkdtemp()}/schedules.db", min_tasks=1)
    await scheduler.register_scheduler_plugin(plugin, idempotent=True)
