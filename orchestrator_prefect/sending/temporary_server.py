"""The server that Prefect starts for a process that names none, and who may use it.

A worker that is told of no server starts one of its own for its first task: five seconds of
processor time for each worker, and where it has several threads their first tasks fail, since only
one of them gets it started. Workers on the flow's machine can use the flow's.
"""

from __future__ import annotations

from typing import Any

from prefect.client.base import ServerType
from prefect.context import FlowRunContext
from prefect.logging import get_logger

from orchestrator_core.execute.dask.workers.here import are_here


def temporary_server(client: Any) -> str | None:
    """Address of the server that was started for this process alone; None if there is none, or
    if some worker of the Dask client's cluster, or nobody knows which, is on another machine."""
    try:
        return _found(client)
    except Exception:
        get_logger(__name__).debug("workers start servers of their own", exc_info=True)
        return None


def _found(client: Any) -> str | None:
    context = FlowRunContext.get()
    server: Any = None if context is None else context.client
    if getattr(server, "server_type", None) != ServerType.EPHEMERAL:
        return None
    return str(server.api_url) if are_here(client) else None
