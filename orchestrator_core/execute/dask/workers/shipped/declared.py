"""What a worker's owner says about it, in its environment or in Dask's configuration."""

from __future__ import annotations

from typing import Any


def declared() -> dict[str, Any]:
    """Kind, speed, price and bytes of memory of each of its accelerators, where they are given; the
    environment comes first."""
    import os

    import dask.config

    configured = dask.config.get("orchestrator.worker", default=None) or {}
    said = {}
    for key in ("kind", "speed", "price", "device_memory"):
        value = os.environ.get(f"ORCHESTRATOR_WORKER_{key.upper()}") or configured.get(
            key.replace("_", "-")
        )
        if value is not None:
            said[key] = value
    if "device_memory" in said:
        said["device_memory"] = _bytes(said["device_memory"])
    return said


def _bytes(given: Any) -> int:
    """Of a number or a text such as ``16 GiB``; 0, which is no answer, for what is neither."""
    from dask.utils import parse_bytes

    try:
        return int(parse_bytes(given))
    except ValueError:
        return 0
