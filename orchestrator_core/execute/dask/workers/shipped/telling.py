"""A worker's answer to the question what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchestrator_core.execute.dask.workers.shipped.accelerators import accelerators
from orchestrator_core.execute.dask.workers.shipped.declared import declared
from orchestrator_core.execute.dask.workers.shipped.processor import processor, round_seconds


async def tell() -> dict[str, Any]:
    """What its owner says, and its hardware; what cannot be found out is left out.

    Runs on the worker's event loop, which goes on while a thread measures.
    """
    from distributed.utils import offload

    said = declared()
    questions: dict[str, Callable[[], Any]] = {
        "processor": processor,
        "accelerators": accelerators,
        "round_seconds": round_seconds,
    }
    for name, question in questions.items():
        try:
            said[name] = await offload(question)
        except Exception:
            # The worker must not fail because of what nobody needs.
            continue
    return said
