"""Recurrences as kernels: by the interpreter equal to NumPy in float64, and lowered for a GPU."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.recurrence.rewrite import recurrence
from tests.conductor.kernels.interpreting import (
    TRITON,
    assert_near,
    for_gpu,
    graph_of,
    in_interpreted_kernels,
    kernels_of,
    lowered_for_gpu,
    run,
)

T = 11
"""No multiple of the steps that are read ahead."""


def drawn(*shape: int, seed: int = 0, low: float = -1.0) -> Any:
    return jnp.asarray(np.random.default_rng(seed).uniform(low, 1, shape), "float32")


def mamba(x: Any, dt: Any, a: Any, b: Any, c: Any) -> Any:
    """Gu and Dao, 2023: (t, d) inputs, a state of (d, n)."""

    def step(h: Any, each: Any) -> Any:
        x, dt, b, c = each
        h = jnp.exp(dt[:, None] * a) * h + dt[:, None] * b[None, :] * x[:, None]
        return h, h @ c

    return jax.lax.scan(step, jnp.zeros(a.shape, x.dtype), (x, dt, b, c))[1]


def mamba_arguments() -> list[Any]:
    d, n = 24, 8
    dt, a = drawn(T, d, seed=1, low=0.1), -drawn(d, n, seed=2, low=0.1)
    return [drawn(T, d), dt, a, drawn(T, n, seed=3), drawn(T, n, seed=4)]


def mamba_exactly(arrays: list[Any]) -> Any:
    x, dt, a, b, c = (np.asarray(each, "float64") for each in arrays)
    h, made = np.zeros(a.shape), []
    for t in range(len(x)):
        h = np.exp(dt[t][:, None] * a) * h + (dt[t] * x[t])[:, None] * b[t]
        made.append(h @ c[t])
    return np.stack(made)


def test_a_state_space_model_in_parts() -> None:
    arrays = mamba_arguments()
    graph = graph_of(mamba, arrays)
    made, sites = in_interpreted_kernels(graph)
    assert [site.chosen for site in sites if site.is_changed] == ["a kernel of 6 programs"]
    assert_near(run(made, arrays), [mamba_exactly(arrays)], 1e-6)
    assert lowered_for_gpu(for_gpu(graph)[0], arrays).count(TRITON) == 1


@pytest.mark.slow
def test_its_gradients_run_backward_and_sum_over_parts() -> None:
    arrays = mamba_arguments()
    moving = tuple(range(5))
    function = jax.grad(lambda *each: jnp.sum(jnp.sin(mamba(*each))), moving)
    with jax.enable_x64(True):
        wide = [jnp.asarray(np.asarray(each, "float64")) for each in arrays]
        exact = [np.asarray(each) for each in jax.jit(function)(*wide)]
    graph = graph_of(function, arrays)
    made, _ = in_interpreted_kernels(graph)
    assert len(kernels_of(made)) == 2
    assert_near(run(made, arrays), exact, 2e-6)
    assert lowered_for_gpu(for_gpu(graph)[0], arrays).count(TRITON) == 2


def test_a_complex_state() -> None:
    """Orvieto and others, 2023, without its matrices."""

    def lru(x: Any, turn: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = turn * h + x
            return h, h

        last, states = jax.lax.scan(step, jnp.zeros_like(x[0]), x, reverse=True)
        return last.real, states.imag

    x, turn = (drawn(T, 160, seed=k) + 1j * drawn(T, 160, seed=k + 1) for k in (0, 2))
    arrays = [x, turn[0] / 2]
    h, states = np.zeros(160, "complex128"), []
    for each in np.asarray(x, "complex128")[::-1]:
        h = np.asarray(arrays[1], "complex128") * h + each
        states.append(h)
    graph = graph_of(lru, arrays)
    made, _ = in_interpreted_kernels(graph)
    assert len(kernels_of(made)) == 1
    assert_near(run(made, arrays), [h.real, np.stack(states[::-1]).imag], 1e-6)
    assert lowered_for_gpu(for_gpu(graph)[0], arrays).count(TRITON) == 1


def test_gates_whose_matrices_are_taken_out_of_the_loop() -> None:
    """Feng and others, 2024: what is left of the loop after fission."""

    def min_gru(x: Any, wz: Any, wh: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            z = jax.nn.sigmoid(x @ wz)
            h = (1 - z) * h + z * (x @ wh)
            return h, h

        return jax.lax.scan(step, jnp.zeros(wh.shape[1], x.dtype), x)[1]

    arrays = [drawn(T, 160), drawn(160, 160, seed=1), drawn(160, 160, seed=2)]
    x, wz, wh = (np.asarray(each, "float64") for each in arrays)
    h, exact = np.zeros(160), []
    for each in x:
        z = 1 / (1 + np.exp(-each @ wz))
        h = (1 - z) * h + z * (each @ wh)
        exact.append(h)
    graph, _ = recurrence(graph_of(min_gru, arrays), Goal(always=True))
    made, _ = in_interpreted_kernels(graph)
    assert len(kernels_of(made)) == 1
    assert_near(run(made, arrays), [np.stack(exact)], 3e-6)
    assert lowered_for_gpu(for_gpu(graph)[0], arrays).count(TRITON) == 1


def test_parts_that_need_each_other_stay_a_loop() -> None:
    def sorted_as_it_goes(x: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = jnp.sort(h + x)
            return h, h

        return jax.lax.scan(step, jnp.zeros_like(x[0]), x)[1]

    made, sites = for_gpu(graph_of(sorted_as_it_goes, [drawn(T, 160)]))
    assert not kernels_of(made)
    assert [(site.is_changed, bool(site.reason)) for site in sites] == [(False, True)]
