"""Heirs: plugins that have found another one at work, and are at work when it is gone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler

_STARTING: set[asyncio.Future[None]] = set()
"""The event loop keeps no more than weak references to them."""


class Heir(Protocol):
    """A plugin that stands by."""

    async def start(self, scheduler: Scheduler) -> None:
        """Be at work, or stand by whoever is."""
        ...


class Heirs:
    """Of one plugin, in the order in which they came."""

    def __init__(self) -> None:
        self._heirs: list[Heir] = []

    def add(self, heir: Heir) -> None:
        """It stands by."""
        self._heirs.append(heir)

    def __contains__(self, plugin: object) -> bool:
        return any(plugin is each for each in self._heirs)

    def succeed(self, scheduler: Scheduler) -> None:
        """The place is free: the first is at work from now on, and the others stand by that one.
        Whoever has been taken off the scheduler meanwhile is passed over."""
        heirs, self._heirs = self._heirs, []
        for heir in heirs:
            task = asyncio.ensure_future(_start(heir, scheduler))
            _STARTING.add(task)
            task.add_done_callback(_STARTING.discard)


async def _start(heir: Heir, scheduler: Scheduler) -> None:
    if any(heir is each for each in scheduler.plugins.values()):
        await heir.start(scheduler)
