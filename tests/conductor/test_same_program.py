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


def envelope(b: Array, x: Array) -> tuple[Array, Array]:
    def loss(b: Array) -> Array:
        def step(e: Array, x: Array) -> tuple[Array, Array]:
            a = jax.nn.sigmoid(b + jnp.where(jnp.abs(x) > e, 2.0, -2.0))
            e = a * e + (1 - a) * jnp.abs(x)
            return e, e

        return lax.scan(step, jnp.zeros(x.shape[1]), x)[1].sum()

    return jax.value_and_grad(loss)(b)


def image(x: Array, w: Array) -> Array:
    y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return lax.reduce_window(jax.nn.relu(y), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")


def stabilised_gates(z: Array, i: Array, f: Array) -> Array:
    """Of an xLSTM: what its step makes twice, XLA makes once. 1.5 times as slow by other shapes."""

    def step(carry: tuple[Array, ...], each: tuple[Array, ...]) -> tuple[tuple[Array, ...], Array]:
        c, n, m = carry
        z, i, f = each
        most = jnp.maximum(jax.nn.log_sigmoid(f) + m, i)
        kept, new = jnp.exp(jax.nn.log_sigmoid(f) + m - most), jnp.exp(i - most)
        c, n = kept * c + new * jnp.tanh(z), kept * n + new
        return (c, n, most), c / n

    zero = jnp.zeros(z.shape[1])
    return lax.scan(step, (zero, zero, zero - 1e3), (z, i, f))[1]


def momentum(w: Array, m: Array, g: Array) -> tuple[Array, Array]:
    m = 0.9 * m + g
    return w - 0.1 * m, m


CASES: dict[str, tuple[Callable[..., Any], Sequence[Any]]] = {
    "products": (mlp, [f32(32, 16), f32(16, 64), f32(64, 8)]),
    "a gradient": (jax.grad(mlp, (1, 2)), [f32(32, 16), f32(16, 64), f32(64, 8)]),
    "small attention": (attention, [f32(2, 32, 16)] * 3),
    "a recurrence that is not affine": (rnn, [f32(20, 8), f32(8, 8)]),
    "a recurrence with equal terms": (stabilised_gates, [f32(64, 16)] * 3),
    "convolution and pooling": (image, [f32(2, 8, 8, 3), f32(3, 3, 3, 4)]),
    "sorting": (lambda x: jnp.sort(x, 0)[::-1], [f32(64, 3)]),
    "a Fourier transform": (lambda x: jnp.abs(jnp.fft.rfft(x)), [f32(4, 64)]),
    "an optimiser's step": (momentum, [f32(40, 5)] * 3),
    "random numbers": (lambda x: x + jax.random.normal(jax.random.key(3), x.shape), [f32(9, 7)]),
    "a factorisation": (lambda x: jnp.linalg.solve(x @ x.T + jnp.eye(6), x), [f32(6, 6)]),
    "a branch": (lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), [f32(8)]),
}


COMMUTING = re.compile(r" (add|and|maximum|minimum|multiply|or|xor)\((\S+), (\S+)\)")


def _in_order(found: re.Match[str]) -> str:
    return f" {found[1]}({', '.join(sorted(found.groups()[1:]))})"


def done(program: str) -> list[str]:
    """All operations of a compiled program, each with what it reads and computes inside in the
    place of names; in no order, since XLA orders what may run side by side by names."""
    start = re.search(r"^(%|ENTRY)", program, re.MULTILINE)
    assert start is not None
    known: dict[str, str] = {}
    found: list[str] = []
    name = ""
    for line in re.sub(r", metadata=\{[^}]*\}", "", program[start.start() :]).splitlines():
        if line.startswith(("%", "ENTRY")):
            name, found = line.split(" (")[0], []
        elif line.startswith("}"):
            known[name] = str(hash(tuple(sorted(found))))
        elif " = " in line:
            made, does = line.strip().removeprefix("ROOT ").split(" = ", 1)
            known[made] = re.sub(r"%[\w.\-]+", lambda m: known[m[0]], does)
            known[made] = str(hash(COMMUTING.sub(_in_order, known[made])))
            found.append(line.split(" = ")[0].startswith("  ROOT") * "returned " + known[made])
    assert found
    return sorted(found)


def test_what_nothing_is_done_to_is_given_to_xla_as_it_was_written() -> None:
    """It fuses loops otherwise if functions within them have been put in their places."""
    args = [f32(), f32(256, 8)]
    ours = conduct(envelope, allow=()).lower(*args).compile().as_text()
    plain = jax.jit(envelope).lower(*args).compile().as_text()
    assert ours is not None
    assert plain is not None
    assert ours.count("fusion(") == plain.count("fusion(")
    assert done(ours) == done(plain)


def test_what_differs_is_seen() -> None:
    programs = [
        jax.jit(f).lower(f32(4)).compile().as_text()
        for f in (lambda x: x * 2 + x, lambda y: y * 2 + y, lambda x: x * 2 - x)
    ]
    one, same, other = (done(str(each)) for each in programs)
    assert one == same
    assert one != other


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_alone_is_the_same_program(name: str) -> None:
    function, args = CASES[name]
    plain = jax.jit(function).lower(*args).compile().as_text()
    ours = conduct(function).lower(*args).compile().as_text()
    assert plain is not None
    assert ours is not None
    assert done(ours) == done(plain)
