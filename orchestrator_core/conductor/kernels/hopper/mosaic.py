"""What is used of Pallas's Mosaic GPU, JAX's language for Hopper, which JAX does not promise to
keep. One group is four warps, which hold a matrix in registers together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas
from jax.experimental.pallas import mosaic_gpu as mosaic

GROUP = "group"
"""The axis that tells the groups of a program apart."""

MOST_SHARED = 232_448 - 1024
"""Bytes of shared memory of a multiprocessor, less what barriers need."""

SWIZZLE = 128
"""Bytes of a row of what products read, so that banks do not collide."""

when = pallas.when
axis_index = lax.axis_index
wait = mosaic.barrier_wait
arrive = mosaic.barrier_arrive
copy_in = mosaic.copy_gmem_to_smem
with_registers = mosaic.set_max_registers


def layout(shape: Sequence[int], rows: int) -> Any:
    """How a group holds an array: a matrix, a number for each of its rows, or for each column."""
    whole: Any = mosaic.Layout.WGMMA
    if len(shape) == 2:
        return whole
    return whole.reduce(1) if shape == (rows,) else whole.reduce(0)


def laid(array: Any, rows: int) -> Any:
    """The same array, held as products need it."""
    return mosaic.layout_cast(array, layout(array.shape, rows))


def counted(dtype: Any, shape: Sequence[int], axis: int, rows: int) -> Any:
    """Positions along an axis."""
    return mosaic.broadcasted_iota(dtype, tuple(shape), axis, layout=layout(shape, rows))


def load(ref: Any, at: Sequence[Any], shape: Sequence[int], rows: int) -> Any:
    """A number from memory, or a vector."""
    if not shape:
        return ref[tuple(at)]
    function: Any = mosaic.load
    part, held = ref.at[tuple(at)], layout(tuple(shape), rows)
    if jax.__version_info__ < (0, 11):
        return function(part, (), layout=held, optimized=False)
    return function(part, layout=held, optimized=False)


def turned(ref: Any) -> Any:
    """A matrix in shared memory, its axes exchanged."""
    if hasattr(ref, "transpose"):
        return ref.transpose((1, 0))
    exchanged: Any = mosaic.transpose_ref  # before JAX 0.11
    return exchanged(ref, (1, 0))


def product(left: Any, right: Any, shape: tuple[int, int], after: Callable[[], None]) -> Any:
    """Of two matrices in shared memory; `after`: what is done while it is under way."""

    def run(made: Any) -> Any:
        mosaic.wgmma(made, left, right)
        after()
        return made[...]

    accumulator: Any = getattr(mosaic, "ACC")  # noqa: B009
    return pallas.run_scoped(run, accumulator(shape, jnp.float32))


def added(base: Any, left: Any, right: Any, after: Callable[[], None]) -> Any:
    """`base` and a product of a matrix in registers and one in shared memory."""

    def run(made: Any) -> None:
        mosaic.wgmma(made, left, right)
        after()

    accumulator: Any = getattr(mosaic, "ACC")  # noqa: B009
    run_state: Any = pallas.run_state
    return run_state(run)(accumulator.init(base))


def copy_out(array: Any, through: Any, ref: Any) -> None:
    """Writes a matrix to memory, by way of shared memory, so that whole rows are written."""
    commit: Any = mosaic.commit_smem
    through[...] = array
    commit()
    mosaic.copy_smem_to_gmem(through, ref)
    mosaic.wait_smem_to_gmem(0)


def together(arrays: Sequence[Any]) -> Sequence[Any]:
    """The same arrays, all of which are there before anything that follows begins."""
    barrier: Any = lax.optimization_barrier
    made: Sequence[Any] = barrier(tuple(arrays))
    return made


def shared(shape: Sequence[int], dtype: Any) -> Any:
    """Matrices in shared memory, side by side."""
    tiling: Any = mosaic.TilingTransform((8, SWIZZLE // jnp.dtype(dtype).itemsize))
    return mosaic.SMEM(tuple(shape), dtype, transforms=(tiling, mosaic.SwizzleTransform(SWIZZLE)))


def barriers(count: int, arrivals: int = 1) -> Any:
    return mosaic.Barrier(num_arrivals=arrivals, num_barriers=count)


def call(
    body: Callable[..., None],
    grid: Sequence[int],
    names: Sequence[str],
    outputs: Sequence[Any],
    scratch: Sequence[Any],
    groups: int,
) -> Callable[..., Sequence[Any]]:
    """A function of arrays that runs a program once for each point of the grid, the first axis
    being the fastest. The program gets references to inputs, outputs and `scratch`."""

    def entry(*refs: Any) -> None:
        pallas.run_scoped(
            lambda *held: body(refs, held),
            *scratch,
            collective_axes=GROUP,
        )

    make: Any = mosaic.kernel
    made: Callable[..., Sequence[Any]] = make(
        entry,
        out_type=list(outputs),
        grid=tuple(grid),
        grid_names=tuple(names),
        num_threads=groups,
        thread_name=GROUP,
        compiler_params=mosaic.CompilerParams(approx_math=True),
    )
    return made
