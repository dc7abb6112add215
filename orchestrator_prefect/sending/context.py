"""The settings of Prefect, serialised once for a flow run instead of once for each task.

prefect-dask serialises the whole context of the flow for each submission; most of that time goes
into settings, which do not change. `SerializedOnce` puts a stand-in with the same settings into the
context variable for the length of a submission; it answers `serialize()` from memory, already
pickled. Everything else of the submission stays Prefect's own code. If this version of Prefect
works in another way, the submission takes place as always.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from prefect.context import SettingsContext
from prefect.logging import get_logger


class _Pickled(dict[str, Any]):
    """A dictionary that is pickled already; it unpickles as a plain one."""

    def __init__(self, content: dict[str, Any]) -> None:
        super().__init__(content)
        self._bytes = pickle.dumps(content)

    def __reduce__(self) -> tuple[Any, ...]:
        return (pickle.loads, (self._bytes,))


class _StandIn(SettingsContext):
    """The same settings, whose serialised form is remembered."""

    _serialized: Any = None

    def serialize(self, include_secrets: bool = True) -> dict[str, Any]:
        if not include_secrets or self._serialized is None:
            return super().serialize(include_secrets=include_secrets)
        remembered: dict[str, Any] = self._serialized
        return remembered


class SerializedOnce:
    """Keeps the stand-in for the settings that it saw last.

    Attributes:
        server: address of a server that workers are to use, where the settings name none.
    """

    def __init__(self) -> None:
        self.server: str | None = None
        self._seen: SettingsContext | None = None
        self._stand_in: _StandIn | None = None

    @contextmanager
    def reused(self) -> Iterator[None]:
        """Within it, the current context is cheap to serialise."""
        token = self._enter()
        try:
            yield
        finally:
            if token is not None:
                SettingsContext.__var__.reset(token)

    def sent(self) -> Mapping[str, Any] | None:
        """What is sent of the current settings, if they name a server; None where they name none,
        or are serialised for each task."""
        try:
            stand_in = self._for(SettingsContext.get())
            content = None if stand_in is None else stand_in.serialize()
            return content if content and content["settings"].get("api", {}).get("url") else None
        except Exception as error:
            get_logger(__name__).debug("The settings are serialised for each task: %r", error)
            return None

    def _enter(self) -> Any:
        try:
            stand_in = self._for(SettingsContext.get())
            return None if stand_in is None else SettingsContext.__var__.set(stand_in)
        except Exception as error:
            get_logger(__name__).debug("The settings are serialised for each task: %r", error)
            return None

    def _for(self, current: SettingsContext | None) -> _StandIn | None:
        if current is None:
            return None
        if current is not self._seen:
            # Remembered before it is tried: what fails once is not tried for each task.
            self._seen, self._stand_in = current, None
            self._stand_in = _stand_in(current, self.server)
        return self._stand_in


def _stand_in(current: SettingsContext, server: str | None) -> _StandIn:
    made = _StandIn.model_construct(profile=current.profile, settings=current.settings)
    content = current.serialize()
    if server is not None and current.settings.api.url is None:
        settings = content["settings"]
        named = {"api": {**settings.get("api", {}), "url": server}}
        content = {**content, "settings": {**settings, **named}}
    made._serialized = _Pickled(content)
    return made
