"""What is used of Pallas, JAX's language for kernels, which JAX does not promise to keep.

JAX 0.10.2 to 0.12.0 lower it to Triton (Tillet and others, 2019) for NVIDIA's GPUs; from 0.11 on
JAX says that this will be removed some day.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.experimental import pallas
from jax.experimental.pallas import triton

program_id = pallas.program_id
within = pallas.ds
Within = pallas.Slice


@dataclass(frozen=True, slots=True)
class Launch:
    """Attributes:
    warps: of 32 threads that share one tile. stages: of loads that are under way at once.
    """

    warps: int = 4
    stages: int = 2


def load(ref: Any, at: Sequence[Any], mask: Any) -> Any:
    """A part of an array in memory; zero where the mask, unless it is None, is false."""
    if mask is None:
        return triton.load(ref.at[tuple(at)])
    zero = np.zeros((), ref.dtype)[()]  # of another type it would change that of the part
    return triton.load(ref.at[tuple(at)], mask=mask, other=zero)


def store(ref: Any, at: Sequence[Any], array: Any, mask: Any) -> None:
    """Writes a part of an array in memory where the mask, unless it is None, is true."""
    triton.store(ref.at[tuple(at)], array, mask=mask)


def approximate_tanh(array: Any) -> Any:
    """By one instruction, off by 2^-11; not for the interpreter."""
    return triton.approx_tanh(array)


def output(shape: Sequence[int], dtype: Any) -> Any:
    """A result of a kernel."""
    make: Any = jax.ShapeDtypeStruct
    return make(tuple(shape), dtype)


def call(
    kernel: Callable[..., None],
    grid: Sequence[int],
    outputs: Sequence[Any],
    launch: Launch,
    is_interpreted: bool,
) -> Callable[..., Sequence[Any]]:
    """A function of arrays that runs a kernel once for each point of the grid, the first axis being
    the fastest. The kernel gets references to whole arrays, inputs first."""
    called: Any = pallas.pallas_call
    made: Callable[..., Sequence[Any]] = called(
        kernel,
        grid=tuple(grid),
        out_shape=list(outputs),
        compiler_params=triton.CompilerParams(num_warps=launch.warps, num_stages=launch.stages),
        interpret=is_interpreted,
        name="tiles",
    )
    return made


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
    """Meanwhile JAX does not say that Triton will be removed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The Pallas Triton backend", DeprecationWarning)
        yield
