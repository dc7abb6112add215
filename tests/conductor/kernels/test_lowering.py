"""What is found out while planning, which may be inside somebody's trace."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.kernels import pallas
from orchestrator_core.conductor.kernels.lowering import refusal, seconds

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


def test_why_a_function_cannot_be_compiled_for_a_gpu() -> None:
    assert refusal(jnp.sin, [AVAL], is_interpreted=False) == ""
    said = refusal(lambda x: x.reshape(3), [AVAL], is_interpreted=False)
    assert "TypeError" in said
