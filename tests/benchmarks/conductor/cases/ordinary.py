"""Ordinary functions, of which most are best left alone: none may ever be slower."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from tests.benchmarks.conductor.cases.arrays import integers, normal

Ordinary = tuple[Callable[..., Any], Sequence[Any]]

X = normal(1024, 1024)
V = normal(1 << 20, seed=1)
IMAGES = normal(8, 64, 64, 16, seed=2)
KERNEL = normal(3, 3, 16, 32, seed=3, scale=0.1)
SERIES = normal(512, 128, seed=4)
WEIGHTS = normal(128, 128, seed=5, scale=0.1)
WIDE = normal(128, 512, seed=6, scale=0.1)
NARROW = normal(512, 128, seed=7, scale=0.05)
LABELS = integers(10, 512, seed=8)
TABLE = normal(5000, 128, seed=9)
IDS = integers(5000, 2048, seed=10)
HEADS = normal(8, 256, 32, seed=11)
SQUARE = normal(256, 256, seed=12)
KEY = jax.random.key(0)


def mlp(x: Array, w: Array, u: Array) -> Array:
    return jax.nn.gelu(x @ w) @ u


def loss(x: Array, w: Array, u: Array) -> Array:
    return jnp.mean((mlp(x, w, u) - x) ** 2)


def norm(x: Array) -> Array:
    x = x - x.mean(-1, keepdims=True)
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def convolved(x: Array, w: Array, stride: int = 1) -> Array:
    how = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=how)


def attention(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(q @ k.mT / 6) @ v


def causal(q: Array, k: Array, v: Array) -> Array:
    i = jnp.arange(q.shape[-2])
    return jax.nn.softmax(jnp.where(i[:, None] >= i, q @ k.mT / 6, -jnp.inf)) @ v


def scanned(step: Callable[[Array, Array], Array], xs: Array, start: Array) -> Array:
    return lax.scan(lambda h, x: (step(h, x),) * 2, start, xs)[1]


def lstm(x: Array, w: Array, u: Array) -> Array:
    def step(state: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
        h, c = state
        i, f, g, o = jnp.split(x @ w + h @ u, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros(u.shape[0])
    return lax.scan(step, (zero, zero), x)[1]


def classified(x: Array, w: Array, labels: Array) -> Array:
    logits = jax.nn.log_softmax(x @ w)
    return -jnp.mean(jnp.take_along_axis(logits, labels[:, None], 1))


def adam(w: Array, m: Array, v: Array, g: Array) -> tuple[Array, Array, Array]:
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v


def newton(a: Array) -> Array:
    body = lambda x: 1.5 * x - 0.5 * x @ x @ x  # noqa: E731
    return lax.fori_loop(0, 8, lambda _, x: body(x), a / jnp.linalg.norm(a))


def blurred(x: Array) -> Array:
    return lax.reduce_window(x, 0.0, lax.add, (1, 5, 5, 1), (1, 1, 1, 1), "SAME") / 25


def pooled(x: Array) -> Array:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def nearest(x: Array, y: Array) -> Array:
    apart = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    return jnp.argmin(apart, 1)


SPREAD = SQUARE @ SQUARE.T + 256 * jnp.eye(256)

ORDINARY: dict[str, Ordinary] = {
    "sum": (jnp.sum, [X]),
    "mean by columns": (lambda x: x.mean(0), [X]),
    "variance by rows": (lambda x: x.var(1), [X]),
    "standard scores": (lambda x: (x - x.mean(0)) / x.std(0), [X]),
    "largest and where": (lambda x: (x.max(1), x.argmax(1)), [X]),
    "logsumexp by columns": (lambda x: jax.nn.logsumexp(x, 0), [X]),
    "softmax": (jax.nn.softmax, [X]),
    "running sum": (lambda x: jnp.cumsum(x, 0), [X]),
    "running maximum": (lambda x: lax.cummax(x, 1), [X]),
    "sort": (lambda x: jnp.sort(x, 1), [X[:256]]),
    "argsort and take": (lambda x: jnp.take_along_axis(x, jnp.argsort(x, 1), 1), [X[:256]]),
    "median": (lambda x: jnp.median(x, 1), [X[:256]]),
    "top 8": (lambda x: lax.top_k(x, 8), [X]),
    "histogram": (lambda x: jnp.histogram(x, 64)[0], [V[: 1 << 16]]),
    "elementwise chain": (lambda x: jnp.tanh(jnp.sin(x) * 2 + x**2), [V]),
    "polynomial": (lambda x: ((x * 3 + 1) * x - 2) * x + 5, [V]),
    "gelu and dropout": (
        lambda x, k: jnp.where(jax.random.bernoulli(k, 0.9, x.shape), jax.nn.gelu(x), 0),
        [X, KEY],
    ),
    "layer norm": (norm, [X]),
    "gradient of layer norm": (jax.grad(lambda x: (norm(x) ** 3).sum()), [X]),
    "transpose": (lambda x: x.T + 1, [X]),
    "concatenate and split": (lambda x: jnp.split(jnp.concatenate([x, 2 * x], 1), 4, 1), [X]),
    "roll and difference": (lambda x: x - jnp.roll(x, 1, 0), [X]),
    "outer product": (lambda x, y: jnp.outer(x, y), [V[:1024], V[:1024]]),
    "where and clip": (lambda x: jnp.where(x > 0, jnp.clip(x, 0, 1), -x), [X]),
    "matrix product": (jnp.matmul, [X, X]),
    "product with a transpose": (lambda x, y: x.T @ y, [X, X]),
    "thin product": (lambda x, y: x.T @ y, [X, X[:, :64]]),
    "matrix and vector": (jnp.matmul, [X, V[:1024]]),
    "batched products": (lambda x: x @ x.mT, [HEADS]),
    "three products": (lambda x: x @ x @ x, [SQUARE]),
    "bilinear form": (lambda x, w: jnp.einsum("bi,ij,bj->b", x, w, x), [SERIES, WEIGHTS]),
    "distances": (lambda x: ((x[:, None] - x[None]) ** 2).sum(-1), [SERIES[:, :8]]),
    "nearest neighbours": (nearest, [SERIES, TABLE]),
    "mlp": (mlp, [SERIES, WIDE, NARROW]),
    "gradient of an mlp": (jax.value_and_grad(loss, (1, 2)), [SERIES, WIDE, NARROW]),
    "gradient of a checkpointed mlp": (
        jax.grad(jax.checkpoint(loss), (1, 2)),
        [SERIES, WIDE, NARROW],
    ),
    "many mlps": (jax.vmap(mlp, (0, None, None)), [HEADS @ normal(32, 128), WIDE, NARROW]),
    "cross-entropy of 10 classes": (classified, [SERIES, WIDE[:, :10], LABELS]),
    "gradient of cross-entropy": (jax.grad(classified, 1), [SERIES, WIDE, LABELS]),
    "convolution": (convolved, [IMAGES, KERNEL]),
    "strided convolution": (partial(convolved, stride=2), [IMAGES, KERNEL]),
    "gradient of a convolution": (
        jax.grad(lambda x, w: (convolved(x, w) ** 2).sum(), 1),
        [IMAGES, KERNEL],
    ),
    "average of windows": (blurred, [IMAGES]),
    "max pooling": (pooled, [IMAGES]),
    "gradient of max pooling": (jax.grad(lambda x: (pooled(x) ** 2).sum()), [IMAGES]),
    "resize": (lambda x: jax.image.resize(x, (8, 96, 96, 16), "bilinear"), [IMAGES]),
    "flip and normalise": (lambda x: (x[:, :, ::-1] - x.mean()) / x.std(), [IMAGES]),
    "patches": (lambda x: x.reshape(8, 8, 8, 8, 8, 16).transpose(0, 1, 3, 2, 4, 5), [IMAGES]),
    "Fourier transform": (lambda x: jnp.abs(jnp.fft.rfft(x)) ** 2, [X]),
    "convolution by Fourier transforms": (
        lambda x, y: jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(y)),
        [X, X],
    ),
    "tanh recurrence": (
        lambda x, w: scanned(lambda h, x: jnp.tanh(x + h @ w), x, jnp.zeros(128)),
        [SERIES, WEIGHTS],
    ),
    "moving average": (
        lambda x: scanned(lambda h, x: 0.9 * h + 0.1 * x, x, jnp.zeros(128)),
        [SERIES],
    ),
    "running maximum in a loop": (lambda x: scanned(jnp.maximum, x, jnp.zeros(128)), [SERIES]),
    "lstm": (lstm, [SERIES, WIDE, normal(128, 512, scale=0.1)]),
    "gradient of an lstm": (
        jax.grad(lambda x, w, u: (lstm(x, w, u) ** 2).sum(), (1, 2)),
        [SERIES, WIDE, normal(128, 512, scale=0.1)],
    ),
    "layers in a scan": (
        lambda x, w: lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, w)[0],
        [SERIES, jnp.stack([WEIGHTS] * 6)],
    ),
    "parallel scan": (lambda x: lax.associative_scan(jnp.add, x), [SERIES]),
    "Newton's iteration": (newton, [SQUARE]),
    "a loop that ends when it is small": (
        lambda x: lax.while_loop(lambda x: x.max() > 1e-3, lambda x: 0.5 * x, jnp.abs(x)),
        [X],
    ),
    "a branch": (lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), [V]),
    "momentum": (lambda w, m, g: (w - 0.1 * (0.9 * m + g), 0.9 * m + g), [X, X, X]),
    "adam": (adam, [X, X, X * X, X]),
    "cholesky": (jnp.linalg.cholesky, [SPREAD]),
    "solve": (jnp.linalg.solve, [SPREAD, SQUARE]),
    "eigenvalues": (jnp.linalg.eigvalsh, [SPREAD]),
    "normal numbers": (lambda k: jax.random.normal(k, (512, 512)), [KEY]),
    "permutation": (lambda k, x: jax.random.permutation(k, x), [KEY, X[:256]]),
    "embedding": (lambda t, i: t[i], [TABLE, IDS]),
    "gradient of an embedding": (jax.grad(lambda t, i: (t[i] ** 2).sum()), [TABLE, IDS]),
    "sums by segment": (
        lambda x, i: jax.ops.segment_sum(x, i, num_segments=10),
        [SERIES, LABELS],
    ),
    "one-hot": (lambda i, t: jax.nn.one_hot(i, 10) @ t, [LABELS, WIDE[:10]]),
    "small attention": (attention, [HEADS] * 3),
    "small causal attention": (causal, [HEADS] * 3),
    "gradient of small causal attention": (
        jax.grad(lambda q, k, v: (causal(q, k, v) ** 2).sum(), (0, 1, 2)),
        [HEADS] * 3,
    ),
    "halves": (lambda x, w: x.astype("bfloat16") @ w.astype("bfloat16"), [SERIES, WIDE]),
    "whole numbers": (lambda i: (i * 7919 + 13) % 997, [IDS]),
    "nothing but its input": (lambda x: x, [X]),
}
