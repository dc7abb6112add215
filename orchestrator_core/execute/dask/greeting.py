"""Is there a Dask scheduler at an address? Asked before a client is made.

A client that cannot begin takes ten seconds to go, and ends in a traceback; and what listens but
does not speak as Dask does, such as a scheduler's own dashboard, is waited for without an end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from orchestrator_core.errors import ClusterError

CONNECT_SECONDS = 2.0
"""How long it is tried to reach an address: a packet may get lost once."""

ANSWER_SECONDS = 4.0
"""How long a scheduler that was reached, and is busy, may take to say that it is one."""


async def greet(address: str) -> None:
    """Ask who is there, and close.

    Raises:
        ClusterError: if nobody answers in time, or somebody else does; if certificates are missing.
    """
    arguments, patience = _security(address), CONNECT_SECONDS + ANSWER_SECONDS
    try:
        said = await asyncio.wait_for(_asked(address, arguments), patience)
    except TimeoutError as error:
        raise ClusterError(
            f"what listens at {address!r} has not answered within {patience:g} s: it is no Dask "
            "scheduler, such as the dashboard of one, or a very busy one"
        ) from error
    except (OSError, ValueError) as error:
        raise nobody(address) from error
    except Exception as error:
        # What is no message of Dask's breaks its reader in many ways.
        raise ClusterError(f"what answers at {address!r} does not speak as Dask does") from error
    if "workers" not in said:
        raise ClusterError(
            f"at {address!r} is a Dask {str(said.get('type', 'server')).lower()}, no scheduler: "
            "give the address that the scheduler printed when it started"
        )


def nobody(address: str) -> ClusterError:
    """What is said where no scheduler answers."""
    return ClusterError(
        f"no Dask scheduler answers at {address!r}: does it run, and is this the address that "
        "it printed when it started, such as tcp://127.0.0.1:8786?"
    )


async def _asked(address: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    from distributed.comm.core import connect
    from distributed.core import send_recv

    comm = await connect(address, timeout=CONNECT_SECONDS, **arguments)  # type: ignore[no-untyped-call]
    try:
        return dict(await send_recv(comm, op="identity"))
    finally:
        comm.abort()


def _security(address: str) -> Mapping[str, Any]:
    from distributed.security import Security

    arguments: Mapping[str, Any] = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
    if address.startswith("tls://") and arguments.get("ssl_context") is None:
        raise ClusterError(
            f"{address!r} is encrypted, and no certificates are configured here; name them in "
            "Dask's configuration: distributed.comm.tls.ca-file, .client.cert and .client.key"
        )
    return arguments
