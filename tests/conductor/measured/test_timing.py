"""Functions are timed while planning, which may be inside somebody's trace."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.kernels import pallas
from orchestrator_core.conductor.measured.timing import REPEATS, seconds

AVAL = _jax.ShapedArray((8, 8), np.dtype("float32"))


def test_a_function_is_timed_inside_of_a_trace() -> None:
    taken: list[float] = []

    def function(x: Any) -> Any:
        taken.extend(seconds((lambda y: y @ y, [AVAL])))
        return x + 1

    assert jax.jit(function)(1) == 2
    assert len(taken) == 1
    assert taken[0] > 0


def test_a_kernel_is_timed_inside_of_a_trace() -> None:
    taken: list[float] = []

    def kernel(x: Any, made: Any) -> None:
        made[...] = x[...] + pallas.program_id(0)

    outputs = [pallas.output(AVAL.shape, AVAL.dtype)]
    run = pallas.call(kernel, (1,), outputs, pallas.Launch(), True)

    def function(x: Any) -> Any:
        taken.extend(seconds((run, [AVAL])))
        return x + 1

    assert jax.jit(function)(1) == 2
    assert taken[0] > 0


def test_it_is_done_again_and_again_in_one_call() -> None:
    """As often as it is divided by, however its results are used."""
    calls: list[None] = []

    def function(x: Any) -> Any:
        jax.debug.callback(lambda: calls.append(None))
        return [x + 1, x.sum()]

    seconds((function, [AVAL]))
    jax.effects_barrier()
    assert len(calls) % REPEATS == 0
    assert len(calls) > REPEATS
