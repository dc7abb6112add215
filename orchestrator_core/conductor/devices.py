"""The devices of this process, for those who share out their memory."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np


def here() -> list[Any]:
    """The devices of JAX that this process may use."""
    return list(jax.local_devices())


def bound_to(arguments: Any) -> tuple[Any, ...]:
    """The devices on which the arrays in some arguments have to stay, in order of their numbers."""
    found: set[Any] = set()
    for leaf in jax.tree.leaves(arguments):
        if isinstance(leaf, jax.Array) and getattr(leaf, "committed", False):
            found |= leaf.devices()
    return tuple(sorted(found, key=lambda device: device.id))


def memory_of(device: Any) -> int | None:
    """Bytes that this process may take on the device; None where JAX does not say, as on a CPU."""
    return (device.memory_stats() or {}).get("bytes_limit")


def name_of(device: Any) -> str | None:
    """What all processes of this machine call the device, whichever they see; None for a
    processor, of which each process makes devices of its own."""
    if device.platform == "cpu":
        return None
    own = device.local_hardware_id or 0
    visible = [part.strip() for part in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    return f"{device.platform}-{visible[own] if own < len(visible) and visible[own] else own}"


def taken(device: Any) -> int:
    """Bytes that this process has on the device now, and will not give to others: arrays, and what
    its allocator keeps in stock."""
    stats = device.memory_stats() or {}
    live: Any = jax.live_arrays
    arrays = [_share(array, device) for array in live()]
    return max(sum(arrays), int(stats.get("pool_bytes", 0)))


def on(arguments: Any, device: Any) -> int:
    """Bytes of the arrays in some arguments that are on the device already."""
    leaves = jax.tree.leaves(arguments)
    return sum(_share(leaf, device) for leaf in _arrays(leaves))


def missing(arguments: Any, device: Any) -> int:
    """Bytes of the arrays in some arguments, NumPy's included, that are not on the device yet."""
    leaves = jax.tree.leaves(arguments)
    sizes = [int(leaf.nbytes) for leaf in leaves if isinstance(leaf, jax.Array | np.ndarray)]
    bound = any(getattr(leaf, "committed", False) for leaf in leaves)
    return 0 if bound else sum(sizes) - on(arguments, device)


def _arrays(leaves: Iterable[Any]) -> list[Any]:
    return [each for each in leaves if isinstance(each, jax.Array)]


def _share(array: Any, device: Any) -> int:
    """Bytes of an array on one device. Its shards are not looked at, since that makes new arrays of
    them, which would be counted, too."""
    if array.is_deleted() or device not in array.sharding.device_set:
        return 0
    part = math.prod(array.sharding.shard_shape(array.shape)) / max(1, array.size)
    nbytes: int = round(array.nbytes * part)
    return nbytes
