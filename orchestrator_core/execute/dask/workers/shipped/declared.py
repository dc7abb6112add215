"""What a worker's owner says about it, in its environment or in Dask's configuration."""

from __future__ import annotations

from typing import Any


def declared() -> dict[str, Any]:
    """Kind, speed and price, where they are given; the environment comes first."""
    import os

    import dask.config

    configured = dask.config.get("orchestrator.worker", default=None) or {}
    said = {}
    for key in ("kind", "speed", "price"):
        value = os.environ.get(f"ORCHESTRATOR_WORKER_{key.upper()}") or configured.get(key)
        if value is not None:
            said[key] = value
    return said
