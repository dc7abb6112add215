"""The device that programs are priced for."""

from __future__ import annotations

import contextlib
import contextvars
import os
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
    return (None if is_off() else stored(kind)) or known_device(kind, platform)


def is_off() -> bool:
    """Is nothing to be measured, and nothing to be known of what was?"""
    return os.environ.get("ORCHESTRATOR_CALIBRATE") == "off"


def is_on() -> bool:
    """Is a device to be measured before it is first used?"""
    return os.environ.get("ORCHESTRATOR_CALIBRATE") == "on"


def is_given() -> bool:
    """Is it one that `on_device` has given?"""
    return _given.get() is not None


def forget() -> None:
    """The next `this_device` looks again for what was measured."""
    _known.cache_clear()
