"""Devices before anything is measured: published figures of some, and a guess for the others."""

from __future__ import annotations

from dataclasses import replace

from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.cost.processor import usable_cores


def _gpu(
    kind: str, *, half: float, single: float, double: float, loop: float, memory: float, cache: int
) -> Device:
    """Rates in 1e12 a second, dense; `memory` in 1e12 bytes a second, `cache` in 1e6 bytes.

    The vendor does not publish the other attributes: starting a kernel takes about 3 us, and a step
    of XLA's loops, which asks the host, about 8 us; a special function unit does a quarter of the
    simple operations; the second-level cache is about 2.5 times as fast as memory.
    """
    tera = 1e12
    return Device(
        kind,
        "gpu",
        (
            ("bfloat16", half * tera),
            ("float16", half * tera),
            ("float32", single * tera),
            ("float64", double * tera),
        ),
        loop_rate=loop * tera,
        call_rate=loop * tera / 4,
        bandwidth=memory * tera,
        cache_bandwidth=2.5 * memory * tera,
        cache_bytes=cache * 1_000_000,
        kernel_s=3e-6,
        step_s=8e-6,
        half_side=32.0,
        width=270_000.0,
        origin="published",
    )


PUBLISHED = (
    _gpu("H200", half=989, single=494, double=67, loop=33.5, memory=4.8, cache=50),
    _gpu("H100", half=989, single=494, double=67, loop=33.5, memory=3.35, cache=50),
    _gpu("A100", half=312, single=156, double=19.5, loop=9.75, memory=2.04, cache=40),
    _gpu("L4", half=121, single=60, double=0.47, loop=15.1, memory=0.3, cache=48),
)
"""NVIDIA's data sheets of the SXM boards (H200 2023, H100 2022, A100 80 GB 2021) and of L4 (2023),
without sparsity. float32 products are those of TF32, which XLA takes unless asked otherwise."""


def known_device(kind: str, platform: str) -> Device:
    """The published device whose name is a word of `kind`; or else an assumed one."""
    words = kind.replace("-", " ").upper().split()
    for device in PUBLISHED:
        if device.kind in words:
            return replace(device, kind=kind)
    if platform == "cpu":
        return _assumed_cpu(kind)
    return replace(PUBLISHED[2], kind=kind, platform=platform, origin="assumed")


def _assumed_cpu(kind: str) -> Device:
    """Of today's servers, by the number of cores; an L2 cache of 1 MB each."""
    cores = usable_cores()
    return Device(
        kind,
        "cpu",
        (("bfloat16", 40e9 * cores), ("float32", 40e9 * cores), ("float64", 20e9 * cores)),
        loop_rate=20e9 * cores,
        call_rate=1e9 * cores,
        bandwidth=8e9 * min(cores, 16),
        cache_bandwidth=50e9 * cores,
        cache_bytes=1_000_000 * cores,
        kernel_s=0.4e-6,
        step_s=0.04e-6,
        half_side=8.0,
        fresh_rate=1.25e9 * min(cores, 8),
        spread_s=5e-6 if cores > 1 else 0.0,
        cores=cores,
        origin="assumed",
    )
