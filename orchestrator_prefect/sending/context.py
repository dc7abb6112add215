"""Prefect's context, serialised once for a flow run instead of once for each task.

prefect-dask serialises the whole context of the flow for each submission; most of that time goes
into settings, the flow and where results go, which do not change. `SerializedOnce` puts stand-ins
into the context variables for the length of a submission; they answer `serialize()` from memory,
already pickled. Everything else of the submission stays Prefect's own code. If this version of
Prefect works in another way, the submission takes place as always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Generic, TypeVar

from prefect.context import ContextModel, FlowRunContext, SettingsContext
from prefect.logging import get_logger

from orchestrator_prefect.sending.stand_ins import FlowRunStandIn, SettingsStandIn

C = TypeVar("C", bound=ContextModel)
S = TypeVar("S", bound=ContextModel)


class SerializedOnce:
    """Keeps the stand-ins for the contexts that it saw last.

    Attributes:
        server: address of a server that workers are to use, where the settings name none.
    """

    def __init__(self) -> None:
        self.server: str | None = None
        self._settings = _Kept(self._of_settings)
        self._run = _Kept(FlowRunStandIn.of)

    def _of_settings(self, current: SettingsContext) -> SettingsStandIn:
        return SettingsStandIn.of(current, self.server)

    @contextmanager
    def reused(self) -> Iterator[None]:
        """Within it, the current context is cheap to serialise."""
        with ExitStack() as stack:
            _put(stack, self._settings.of(SettingsContext.get()))
            _put(stack, self._run.of(FlowRunContext.get()))
            yield

    def sent(self) -> Mapping[str, Any] | None:
        """What is sent of the current settings, if they name a server; None where they name none,
        or are serialised for each task."""
        stand_in = self._settings.of(SettingsContext.get())
        content = {} if stand_in is None else stand_in.serialize().content
        return content if content.get("settings", {}).get("api", {}).get("url") else None


class _Kept(Generic[C, S]):
    """The stand-in of the context seen last; None where this Prefect works in another way."""

    def __init__(self, make: Callable[[C], S]) -> None:
        self._make = make
        self._seen: C | None = None
        self._stand_in: S | None = None

    def of(self, current: C | None) -> S | None:
        if current is not None and current is not self._seen:
            # Remembered before it is tried: what fails once is not tried for each task.
            self._seen, self._stand_in = current, None
            self._stand_in = self._made(current)
        return None if current is None else self._stand_in

    def _made(self, current: C) -> S | None:
        try:
            return self._make(current)
        except Exception as error:
            get_logger(__name__).debug("The context is serialised for each task: %r", error)
            return None


def _put(stack: ExitStack, stand_in: ContextModel | None) -> None:
    if stand_in is not None:
        stack.callback(type(stand_in).__var__.reset, stand_in.__var__.set(stand_in))
