"""What Prefect itself says: its variables ``orchestrator_objective``, ``orchestrator_store``, ...

One request, made in the background while Dask's client connects. Whatever goes wrong with it, an
old server or none, leaves these settings unsaid. The text ``{{ prefect.blocks.secret.NAME }}``
stands for what the Secret block of that name holds: a further request, for who wants that.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import Any

from prefect.client.orchestration import get_client
from prefect.context import SyncClientContext
from prefect.logging import get_logger
from prefect.settings import PREFECT_API_URL

from orchestrator_core.settings import Setting, Source, Stated

PREFIX = "orchestrator_"
PATIENCE_SECONDS = 1.0
"""The start of a flow waits at most this long for the answer, from when it was asked for."""

MOST = 200
"""Variables that are asked for at once; older servers give no more."""

_SECRET = re.compile(r"\{\{\s*prefect\.blocks\.secret\.([a-z0-9-]+)\s*\}\}")
_log = get_logger(__name__)


def read_variables() -> Mapping[str, Any]:
    """Our variables on the server, by name.

    Raises:
        Exception: whatever talking to the server meets.
    """
    wanted = {"variables": {"name": {"like_": PREFIX}}, "limit": MOST}
    with _client() as client:
        found = client.request("POST", "/variables/filter", json=wanted).json()
    return {each["name"]: each["value"] for each in found if each["name"].startswith(PREFIX)}


def _client() -> AbstractContextManager[Any]:
    """The flow's own, since to make one takes longer than to ask; another one where there is none
    for threads, as in an asynchronous flow."""
    context = SyncClientContext.get()
    return get_client(sync_client=True) if context is None else nullcontext(context.client)


def read_secret(name: str) -> Any:
    """What the Secret block of that name holds.

    Raises:
        Exception: if there is none, or nobody can be asked.
    """
    from prefect.blocks.system import Secret

    return Secret.load(name, _sync=True).get()  # type: ignore[call-arg, union-attr]


class Variables:
    """Asks in the background from when it is made.

    Args:
        read, read_secret: how variables and secrets are read; may raise.
        patience: seconds, as `PATIENCE_SECONDS`.
    """

    def __init__(
        self,
        read: Callable[[], Mapping[str, Any]] = read_variables,
        read_secret: Callable[[str], Any] = read_secret,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._read, self._read_secret = read, read_secret
        self._until = time.monotonic() + patience
        self._said: dict[str, Stated] = {}
        # The context holds which server is meant.
        run = partial(copy_context().run, self._ask)
        self._asking = Thread(target=run, name="prefect-variables", daemon=True)
        self._asking.start()

    def source(self) -> Source:
        """What the variables say, for `settings.find`."""
        return Source("Prefect", self._look)

    def _look(self, setting: Setting) -> Stated | None:
        self._asking.join(max(0.0, self._until - time.monotonic()))
        return self._said.get(f"{PREFIX}{setting.name}")

    def _ask(self) -> None:
        try:
            values = self._read()
        except Exception as error:
            _log.debug("Prefect's variables are not known, so they are passed over: %r", error)
            return
        for name, value in values.items():
            try:
                self._said[name] = self._stated(name, value)
            except Exception as error:
                # Not the error itself: nobody knows what it quotes.
                what = "The Secret block of variable %s cannot be read, so it is passed over: %s"
                _log.warning(what, name, type(error).__name__)

    def _stated(self, name: str, value: Any) -> Stated:
        secret = _SECRET.fullmatch(value.strip()) if isinstance(value, str) else None
        if secret is None:
            return Stated(value, f"variable {name}")
        return Stated(self._read_secret(secret[1]), f"Secret block {secret[1]}")


def for_command_line(patience: float = 10.0) -> Source | None:
    """What the variables say; None where no server is configured, since to ask would start one."""
    if not PREFECT_API_URL.value():
        return None
    return Variables(patience=patience).source()
