"""``dask scheduler --preload orchestrator_core.execute.dask.preload``: the plugin, from the start.

Settings come from Dask's configuration (`orchestrator.yaml`) and the environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator_core.execute.dask.plugin import OrchestratorPlugin

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler


async def dask_setup(scheduler: Scheduler) -> None:
    """Called by Dask when the scheduler starts."""
    await scheduler.register_scheduler_plugin(OrchestratorPlugin(), idempotent=True)
