"""The group that copies columns into shared memory, as soon as there is room."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.kernels.hopper import mosaic
from orchestrator_core.conductor.kernels.hopper.held import Held
from orchestrator_core.conductor.kernels.hopper.sizes import COLUMNS, FEW_REGISTERS
from orchestrator_core.conductor.kernels.hopper.visit import Visit

if TYPE_CHECKING:
    from orchestrator_core.conductor.kernels.hopper.kernel import HopperKernel


def copying(kernel: HopperKernel, visit: Visit, held: Held) -> None:
    """All tiles of columns, one after another."""
    mosaic.with_registers(FEW_REGISTERS, action="decrease")
    stages = kernel.stages

    def fill(step: Any, slot: Any) -> None:
        place = {kernel.side.inner: visit.column(step) * COLUMNS}
        for leaf, into, there in (
            (kernel.masked.key, held.keys, held.key_is_there),
            (kernel.masked.value, held.values, held.value_is_there),
        ):
            source = visit.leaves[leaf].at[visit.at(leaf, place)]
            mosaic.copy_in(source, into.at[slot], there.at[slot])

    def again(step: Any, _: None) -> None:
        slot = lax.rem(step, jnp.int32(stages))
        mosaic.wait(held.key_is_free.at[slot])
        mosaic.wait(held.value_is_free.at[slot])
        fill(step, slot)

    for step in range(stages):
        mosaic.when(step < visit.steps)(functools.partial(fill, jnp.int32(step), step))
    lax.fori_loop(jnp.int32(stages), visit.steps, again, None)
