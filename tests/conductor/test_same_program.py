"""What conducting leaves as it is compiles to the very same program, so it cannot be slower."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import Array, lax

from orchestrator_core.conductor import conduct


def f32(*shape: int) -> Any:
    return jax.ShapeDtypeStruct(shape, "float32")


def mlp(x: Array, w: Array, u: Array) -> Array:
    return jnp.mean(jax.nn.gelu(x @ w) @ u)


def attention(q: Array, k: Array, v: Array) -> Array:
    scores = jnp.einsum("hqd,hkd->hqk", q, k) / 4
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores), v)


def rnn(x: Array, w: Array) -> Array:
    def step(h: Array, x: Array) -> tuple[Array, Array]:
        h = jnp.tanh(x + h @ w)
        return h, h

    return lax.scan(step, jnp.zeros(w.shape[0]), x)[1]


def image(x: Array, w: Array) -> Array:
    y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return lax.reduce_window(jax.nn.relu(y), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")


def momentum(w: Array, m: Array, g: Array) -> tuple[Array, Array]:
    m = 0.9 * m + g
    return w - 0.1 * m, m


CASES: dict[str, tuple[Callable[..., Any], Sequence[Any]]] = {
    "products": (mlp, [f32(32, 16), f32(16, 64), f32(64, 8)]),
    "a gradient": (jax.grad(mlp, (1, 2)), [f32(32, 16), f32(16, 64), f32(64, 8)]),
    "small attention": (attention, [f32(2, 32, 16)] * 3),
    "a recurrence that is not affine": (rnn, [f32(20, 8), f32(8, 8)]),
    "convolution and pooling": (image, [f32(2, 8, 8, 3), f32(3, 3, 3, 4)]),
    "sorting": (lambda x: jnp.sort(x, 0)[::-1], [f32(64, 3)]),
    "a Fourier transform": (lambda x: jnp.abs(jnp.fft.rfft(x)), [f32(4, 64)]),
    "an optimiser's step": (momentum, [f32(40, 5)] * 3),
    "random numbers": (lambda x: x + jax.random.normal(jax.random.key(3), x.shape), [f32(9, 7)]),
    "a factorisation": (lambda x: jnp.linalg.solve(x @ x.T + jnp.eye(6), x), [f32(6, 6)]),
    "a branch": (lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), [f32(8)]),
}


def without_names(program: str) -> list[str]:
    """Its lines, with each name in the place of what comes first, second, ... and no metadata."""
    body = program[program.index("\n") :].split("\nFileNames")[0]
    body = re.sub(r", metadata=\{[^}]*\}", "", body)
    number: dict[str, str] = {}
    found = re.sub(r"%?[A-Za-z_][\w.\-]*\.?\d*", lambda m: _named(m[0], number), body)
    return [line for line in found.splitlines() if line.strip()]


def _named(word: str, number: dict[str, str]) -> str:
    if not word.startswith("%") and not re.search(r"\.\d+$", word):
        return word
    return number.setdefault(word.lstrip("%"), f"n{len(number)}")


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_alone_is_the_same_program(name: str) -> None:
    function, args = CASES[name]
    plain = jax.jit(function).lower(*args).compile().as_text()
    ours = conduct(function).lower(*args).compile().as_text()
    assert plain is not None
    assert ours is not None
    assert without_names(ours) == without_names(plain)
