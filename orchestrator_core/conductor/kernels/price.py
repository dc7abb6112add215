"""What a kernel costs: the roofline of its tiles."""

from __future__ import annotations

import dataclasses
import math

from orchestrator_core.conductor.cost import Device, Work, work_of
from orchestrator_core.conductor.kernels.pass_kernel import PassKernel

REACHED = 0.4
"""The part of the rate of matrix products that Triton's kernels with softmax in between reach.
Measured, H200, 2026, 8192 positions, rows of 128: 0.38 causal, 0.32 with a soft cap or distances.
Those that only Hopper has reach 0.58, 0.51 and 0.47."""

THREADS = 2048
"""Of a multiprocessor."""

WATCHING = 8
"""Small kernels that find out which tiles may be left out."""

CHECKING = 2
"""Small kernels that find out whether all numbers are finite, if that is all that is not known."""


def work_of_kernel(kernel: PassKernel) -> Work:
    """Of all programs. What the cache holds is read once from memory."""
    once = work_of(kernel.cell.graph, "gpu")
    part = 1.0 if kernel.watch is None else 1.0 - kernel.watch.part
    cells = math.prod(kernel.cell.count.values())
    tiles = kernel.rows * kernel.columns * cells * part
    done = once.times(tiles)
    values = sum(value.nbytes for value in kernel.side.recipe.values)
    made = sum(math.prod(each.shape) * each.dtype.itemsize for each in kernel.outputs)
    kernels = 1.0 + _before(kernel)
    return dataclasses.replace(done, nbytes=values + made, temp_bytes=0, kernels=kernels)


def _before(kernel: PassKernel) -> int:
    """Small kernels that run first."""
    if kernel.watch is None:
        return 0
    return WATCHING if kernel.watch.known is None else CHECKING * len(kernel.watch.leaves)


def seconds_of_kernel(kernel: PassKernel, work: Work, device: Device) -> float:
    types = [value.dtype for value, _ in kernel.side.recipe.leaves]
    dtype = next((each for each in types if getattr(each, "kind", "u") not in "iub"), None)
    computing = (
        work.dot_flops / (REACHED * device.dot_rate(dtype))
        + (work.flops - work.dot_flops) / device.loop_rate
        + work.calls / device.call_rate
    )
    programs = kernel.rows * math.prod(kernel.cell.count.values())
    busy = min(1.0, programs * THREADS / device.width)
    return max(computing / busy, work.nbytes / device.bandwidth) + work.kernels * device.kernel_s
