"""Measured devices on disk, by kind and JAX's version; CPUs, all of one kind, by processor, too."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
from pathlib import Path

import jax

from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.cost.processor import digest, processor, usable_cores


def folder() -> Path:
    """``$ORCHESTRATOR_CACHE``; or the user's cache as ``platformdirs`` knows it; ``~/.cache``."""
    given = os.environ.get("ORCHESTRATOR_CACHE")
    if given:
        return Path(given)
    try:
        from platformdirs import user_cache_path
    except ImportError:
        return Path.home() / ".cache" / "orchestrator"
    return user_cache_path("orchestrator")


def stored(kind: str) -> Device | None:
    """What was measured of such a device; None if nothing was, or nobody can read it."""
    try:
        found = json.loads(_file(kind).read_text())
        rates = tuple((str(name), float(rate)) for name, rate in found.pop("dot_rates"))
        return Device(**found, dot_rates=rates)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def store(device: Device) -> None:
    """Keeps it for other processes; where nothing can be written, it is forgotten."""
    path = _file(device.kind)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = path.with_suffix(f".{os.getpid()}")
        whole.write_text(json.dumps(dataclasses.asdict(device), indent=1))
        whole.replace(path)


def _file(kind: str) -> Path:
    """Machines may share a home, and processes may have some of the cores of one."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", kind).strip("-").lower() or "device"
    if name == "cpu":
        name = f"cpu-{digest(processor())}-{usable_cores()}-cores"
    return folder() / "devices" / f"{name}-jax-{jax.__version__}.json"
