"""Meters: a measuring plugin on each worker while the session lasts.

Each worker gets it by a message of its own, and not through `Scheduler.worker_plugins`: a worker
that cannot read it, because it has another Python, would fail to join because of that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Coroutine
from typing import TYPE_CHECKING, Any

from distributed.core import Status

from orchestrator_core.execute.dask.workers.asking import answers
from orchestrator_core.execute.dask.workers.shipping import shipped

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler

log = logging.getLogger("orchestrator.dask")

NAME = "orchestrator-meter"
"""Name of the plugin on the workers."""


class Meters:
    """Which workers have the plugin; a container of their addresses."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._on: set[str] = set()
        # One message after the other: who is told to remove it must have been told to add it.
        self._one_by_one = asyncio.Lock()
        self._under_way: set[asyncio.Task[None]] = set()
        self._left = False

    def __contains__(self, address: object) -> bool:
        return address in self._on

    def install(self, addresses: Collection[str]) -> None:
        """Begin to put it on these workers; those that fail or leave meanwhile go without."""
        if addresses:
            self._begin(self._install(list(addresses)))

    def forget(self, address: str) -> None:
        """The worker has left."""
        self._on.discard(address)

    def leave(self) -> None:
        """Begin to take it off all workers; a scheduler that closes takes them along anyway."""
        if not self._left:
            self._left = True
            if self._scheduler.status is Status.running:
                self._begin(self._leave())

    async def settled(self) -> None:
        """Until all that was begun has been done."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def _install(self, addresses: list[str]) -> None:
        async with self._one_by_one:
            if self._left:
                return
            said = await answers(
                self._scheduler, addresses, "plugin-add", name=NAME, plugin=_meter()
            )
            for address, answer in said.items():
                if isinstance(answer, dict) and answer.get("status") == "OK":
                    self._on.add(address)
                else:
                    log.debug("worker %s goes unmeasured: %r", address, answer)

    async def _leave(self) -> None:
        async with self._one_by_one:
            present = [address for address in self._on if address in self._scheduler.workers]
            self._on.clear()
            await answers(self._scheduler, present, "plugin-remove", name=NAME)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)


def _meter() -> bytes:
    from orchestrator_core.execute.dask.workers.shipped.meter import Meter

    return shipped(Meter())
