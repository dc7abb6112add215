"""Asking: one message to several workers, and what each answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler

log = logging.getLogger("orchestrator.dask")

SILENT = object()


async def answers(
    scheduler: Scheduler, addresses: Collection[str], op: str, **message: Any
) -> dict[str, Any]:
    """What the workers at these addresses answer to `op`, by address; without those that do not.

    As `Scheduler.broadcast`, which writes an error into the scheduler's log for each worker that
    leaves meanwhile, though nobody has missed it.
    """

    async def ask(address: str) -> Any:
        try:
            return await getattr(scheduler.rpc(address), op)(**message)
        except Exception:
            log.debug("worker %s did not answer %r", address, op, exc_info=True)
            return SILENT

    found = await asyncio.gather(*map(ask, addresses))
    return {
        address: answer
        for address, answer in zip(addresses, found, strict=True)
        if answer is not SILENT
    }
