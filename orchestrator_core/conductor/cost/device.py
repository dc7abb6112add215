"""Devices: the ceilings that a program meets."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

KEPT_BYTES = 32 * 2**20
"""The C library gives larger pieces of memory back to the system when they are free."""

LAST_CACHE = 32 * 2**20
"""Bytes of a server's last cache, at least. What stays in it moves faster than `Device.byte_rate`
knows."""

SHARED = 2**14
"""Elements of a kernel that XLA shares out to all cores."""

WITHIN = 0.125
"""A CPU runs the kernels of a loop's step without going back to whoever starts kernels: the part of
`kernel_s` that is left. Measured, EPYC, 2026: 0.05 us, be it a small product or not."""

WITHIN_FUNCTION_S = 0.01e-6
"""Seconds of a step beside its work, in a loop that is one function. Measured, EPYC, 2026."""

ORIGINS = ("measured", "published", "assumed")


@dataclass(frozen=True, slots=True)
class Device:
    """Attributes:
    kind: as JAX names it, or any other name. platform: ``cpu``, ``gpu`` or ``tpu``.
    dot_rates: flops a second of large matrix products, by the name of the element type.
    loop_rate: simple operations on 32 bits a second. call_rate: calls of ``exp`` and the like.
    bandwidth: bytes a second from and to main memory. cache_bandwidth: and where the cache of
        `cache_bytes` holds all that a kernel touches.
    kernel_s: seconds until a kernel runs. step_s: and a step of a loop, beside its kernels.
    half_side: a matrix product with a side of this length reaches half of its rate.
    width: elements that must be in flight to keep all of it busy.
    fresh_rate: bytes a second of memory that the system hands out, page by page.
    spread_s: seconds until all cores share a kernel, and until the last of them is done with it.
    cores: that share it. is_alone: does only one of them work?
    origin: one of `ORIGINS`.
    """

    kind: str
    platform: str
    dot_rates: tuple[tuple[str, float], ...]
    loop_rate: float
    call_rate: float
    bandwidth: float
    cache_bandwidth: float
    cache_bytes: int
    kernel_s: float
    step_s: float
    half_side: float
    width: float = 1.0
    fresh_rate: float = math.inf
    spread_s: float = 0.0
    cores: int = 1
    is_alone: bool = False
    origin: str = "assumed"

    def dot_rate(self, dtype: object) -> float:
        """Flops a second; of a type that is not listed that of float32, by its size. Derivatives of
        whole numbers have none: nothing is computed of them."""
        rates = dict(self.dot_rates)
        name = "float32" if dtype is None else np.dtype(dtype).name  # type: ignore[call-overload]
        if name in rates:
            return rates[name]
        return rates["float32"] * 4 / max(1, np.dtype(name).itemsize)

    def byte_rate(self, touched: float) -> float:
        """Bytes a second of a kernel that touches so many in all."""
        return self.cache_bandwidth if touched <= self.cache_bytes else self.bandwidth

    def part_in_cache(self, nbytes: float) -> float:
        """How much of so many bytes a CPU's last cache may hold when they are needed again: all, or
        less the more there are, down to nothing of half as many more than it has room for."""
        if self.platform != "cpu":
            return 0.0
        return min(1.0, max(0.0, 3 - 2 * nbytes / LAST_CACHE))

    def holding(self, nbytes: float) -> Device:
        """As kernels meet it between which so many bytes are kept: what stays in a CPU's last cache
        need not come from main memory."""
        part = self.part_in_cache(nbytes)
        if part == 0.0:
            return self
        each = part / self.cache_bandwidth + (1 - part) / self.bandwidth
        return replace(self, bandwidth=1 / each)

    def fresh_s(self, nbytes: float) -> float:
        """Seconds until so many bytes are there to be used. Few are kept from the last run."""
        return nbytes / self.fresh_rate if nbytes >= KEPT_BYTES else 0.0

    def within_loop(self) -> Device:
        """As the kernels of a loop's step meet it."""
        return replace(self, kernel_s=WITHIN * self.kernel_s) if self.platform == "cpu" else self

    def within_function(self) -> Device:
        """As the operations of a CPU's loop meet it that is one function."""
        return replace(self, kernel_s=0.0, step_s=WITHIN_FUNCTION_S, is_alone=True)

    @property
    def part_at_work(self) -> float:
        """Of its cores."""
        return 1 / self.cores if self.is_alone else 1.0

    def start_s(self, elements: float) -> float:
        """Seconds beside the work of a kernel that makes so many elements."""
        return self.kernel_s + (self.spread_s if elements >= SHARED else 0.0)

    def busy(self, elements: float) -> float:
        """Which part of it works on a kernel that makes so many elements."""
        return min(1.0, max(1.0, elements) / self.width)
