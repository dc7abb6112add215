"""The device that programs are priced for."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from functools import lru_cache

import jax

from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.cost.device_store import stored
from orchestrator_core.conductor.cost.known_devices import known_device

_given: contextvars.ContextVar[Device | None] = contextvars.ContextVar("device", default=None)


def this_device() -> Device:
    """The one given by `on_device`, or else JAX's first as measured by `calibrate` whenever that
    was, as published, or as assumed. Measures nothing itself."""
    return _given.get() or _known(jax.devices()[0].device_kind, jax.default_backend())


@contextlib.contextmanager
def on_device(device: Device) -> Iterator[None]:
    """Meanwhile, in this thread, programs are priced for this device."""
    token = _given.set(device)
    try:
        yield
    finally:
        _given.reset(token)


@lru_cache(maxsize=8)
def _known(kind: str, platform: str) -> Device:
    return stored(kind) or known_device(kind, platform)


def forget() -> None:
    """The next `this_device` looks again for what was measured."""
    _known.cache_clear()
