"""optimize: any Dask work inside a ``with`` block is planned, and recorded when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from numbers import Real
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from distributed.client import ClosedClientError

from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.advice import Advisor
from orchestrator_core.execute.dask import client as calls
from orchestrator_core.graph.text import shown

if TYPE_CHECKING:
    from distributed import Client

CLOSED = ("closed", "closing")
"""States of a client that can do nothing any more."""

log = logging.getLogger("orchestrator.dask")


class optimize:
    """Plan whatever the client computes inside the block; afterwards all is as it was.

    Example:
        >>> with optimize(client):  # doctest: +SKIP
        ...     frame.groupby("x").mean().compute()

    To enter takes a few seconds, in which helper processes start: put one block around many
    computations, or register the plugin for good. A machine that has to compile what plans, which
    takes minutes, is not waited for: it is logged, and Dask places tasks itself until it is done.
    ``async with`` is for asynchronous clients.
    Where the scheduler has the plugin already, that one is used; it leaves with the last block, or
    stays if somebody has put it there for good.

    Args:
        client: connected to any Dask cluster whose scheduler can import this package.
        store: a database URL or a file, None for the configured one; or an `Advisor`, which
            travels to the scheduler by pickle.
        mode, options: as of `OrchestratorPlugin`.
        ready_seconds: how long to wait at most until plans can be made, compiling included; 0 not
            to wait. Default: a minute, but not for what is being compiled.
        stop_seconds: how long to wait at most until the runs are written.

    Raises:
        TypeError: for what is no client, and for an asynchronous one in a plain ``with``.
        InvalidInput: naming the option that cannot be used.
        distributed.client.ClosedClientError: on entering, for a client that is closed. One that is
            closed inside of the block leaves it quietly, and one that has lost its scheduler with
            a line in the log: what went wrong inside of the block is raised, and nothing else.
    """

    def __init__(
        self,
        client: Client,
        store: str | os.PathLike[str] | Advisor | None = None,
        *,
        mode: str = "auto",
        ready_seconds: float | None = None,
        stop_seconds: float = calls.STOP_SECONDS,
        **options: Any,
    ) -> None:
        if not hasattr(client, "run_on_scheduler"):
            raise TypeError(
                f"optimize takes a distributed.Client, not a {type(client).__name__}; "
                "cluster.get_client() makes one"
            )
        _check_seconds("ready_seconds", 0.0 if ready_seconds is None else ready_seconds)
        _check_seconds("stop_seconds", stop_seconds)
        self._client: Any = client
        self._ready_seconds = ready_seconds
        self._stop_seconds = stop_seconds
        self._tokens: list[str] = []
        self._entering: asyncio.Task[Any] | None = None
        where = {"advisor" if hasattr(store, "advise") else "store": store}
        self._options = {**where, "mode": mode, **options}

    def __enter__(self) -> Client:
        if self._client.asynchronous:
            raise TypeError('this client is asynchronous: write "async with optimize(client)"')
        self._check_open()
        token = uuid4().hex
        try:
            self._client.sync(self._enter, token)
        except BaseException:
            with contextlib.suppress(Exception):
                self._client.sync(self._abandon, token)
            raise
        self._tokens.append(token)
        return cast("Client", self._client)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        token = self._tokens.pop()
        if not self._is_closed:
            self._client.sync(self._exit, token)

    async def __aenter__(self) -> Client:
        self._check_open()
        token = uuid4().hex
        try:
            await self._enter(token)
        except BaseException:
            with contextlib.suppress(Exception):
                await self._exit(token)
            raise
        self._tokens.append(token)
        return cast("Client", self._client)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        token = self._tokens.pop()
        if not self._is_closed:
            await self._exit(token)

    @property
    def _is_closed(self) -> bool:
        """Then the scheduler sees to it that the block has ended, a few seconds later."""
        return self._client.status in CLOSED

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedClientError(f"{self._client} is closed: optimize needs one that is not")

    async def _enter(self, token: str) -> None:
        self._entering = asyncio.current_task()
        await calls.enter(self._client, token, **self._options)
        if self._ready_seconds is None:
            if holdup := await calls.wait_willing(self._client):
                log.warning("graphs are left to Dask for now; %s", holdup)
        elif self._ready_seconds > 0:
            await calls.wait_ready(self._client, self._ready_seconds)

    async def _abandon(self, token: str) -> None:
        """Who waited to enter was stopped, as by Ctrl-C, and the loop knows nothing of that."""
        if self._entering is not None:
            self._entering.cancel()
            await asyncio.wait([self._entering])
        await self._exit(token)

    async def _exit(self, token: str) -> None:
        try:
            await calls.leave(self._client, token, self._stop_seconds)
        except OSError as error:
            log.warning("the scheduler is gone, and there is nothing to leave: %s", error)


def _check_seconds(what: str, given: object) -> None:
    if not (isinstance(given, Real) and float(given) >= 0):
        raise InvalidInput(f"{what} is {shown(given)}; give seconds >= 0")
