"""Derivatives that somebody has written, some of them wrong on purpose."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import Array

from tests.conductor.corpus.case import family
from tests.conductor.corpus.near_misses.given import causal, scores, three


@jax.custom_jvp
def strange_softmax(s: Array) -> Array:
    return jax.nn.softmax(s)


@strange_softmax.defjvp
def _(primals, tangents):
    (s,), (ds,) = primals, tangents
    p = jax.nn.softmax(s)
    return p, 3 * p * ds  # on purpose


@jax.custom_jvp
def strange_exp(x: Array) -> Array:
    return jnp.exp(x)


@strange_exp.defjvp
def _(primals, tangents):
    return jnp.exp(primals[0]), jnp.exp(0.5 * primals[0]) * tangents[0]  # on purpose


@jax.custom_vjp
def strange_attention(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(causal(scores(q, k))) @ v


def _forward(q: Array, k: Array, v: Array):
    return strange_attention(q, k, v), (q, k, v)


def _backward(saved, g: Array):
    q, k, v = saved
    p = jax.nn.softmax(causal(scores(q, k)))
    return g @ v.T @ k, (g @ v.T).T @ q, 2 * p.T @ g  # on purpose


strange_attention.defvjp(_forward, _backward)


@jax.custom_vjp
def right_attention(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(causal(scores(q, k))) @ v


def _right_forward(q: Array, k: Array, v: Array):
    s = causal(scores(q, k))
    lse = jax.nn.logsumexp(s, -1)
    out = jnp.exp(s - lse[:, None]) @ v
    return out, (q, k, v, out, lse)


def _right_backward(saved, g: Array):
    q, k, v, out, lse = saved
    p = jnp.exp(causal(scores(q, k)) - lse[:, None])
    ds = p * (g @ v.T - (g * out).sum(-1, keepdims=True)) * 0.5
    return ds @ k, ds.T @ q, p.T @ g


right_attention.defvjp(_right_forward, _right_backward)


@jax.custom_vjp
def clipped(x: Array) -> Array:
    """The same; its cotangent is clipped."""
    return x


clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1e-3, 1e-3),))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def scaled_back(x: Array, by: float) -> Array:
    return x


scaled_back.defvjp(lambda x, by: (x, None), lambda by, _, g: (by * g,))


def _linear_call(q: Array, k: Array, v: Array) -> Array:
    """A product whose transpose is said to be twice what it is."""
    p = jax.nn.softmax(scores(q, k))
    p = jax.lax.stop_gradient(p)  # what it is linear in is v alone
    return jax.custom_derivatives.linear_call(lambda p, x: p @ x, lambda p, g: 2 * p.T @ g, p, v)


def _squared_distance_root(q: Array, k: Array, v: Array) -> Array:
    """A root whose derivative at zero is infinite, on the diagonal."""
    apart = jnp.sqrt(((q[:, None] - q[None]) ** 2).sum(-1))
    return jax.nn.softmax(-apart) @ v


def _saved_root(q: Array, k: Array, v: Array) -> Array:
    """The same, mended by the double where."""
    d2 = ((q[:, None] - q[None]) ** 2).sum(-1)
    apart = jnp.where(d2 > 0, jnp.sqrt(jnp.where(d2 > 0, d2, 1)), 0)
    return jax.nn.softmax(-apart) @ v


RULES = family(
    "rule",
    {
        "softmax, wrong jvp": lambda q, k, v: strange_softmax(causal(scores(q, k))) @ v,
        "exp, wrong jvp": lambda q, k, v: (
            (e := strange_exp(causal(scores(q, k), -30.0))) / e.sum(-1, keepdims=True) @ v
        ),
        "attention, wrong vjp": strange_attention,
        "attention, right vjp": right_attention,
        "attention, wrong vjp, and more": lambda q, k, v: (
            strange_attention(jnp.sin(q), k, v) + right_attention(q, k, v)
        ),
        "scores with a clipped cotangent": lambda q, k, v: (
            jax.nn.softmax(clipped(scores(q, k))) @ v
        ),
        "weights with a clipped cotangent": lambda q, k, v: (
            clipped(jax.nn.softmax(causal(scores(q, k)))) @ v
        ),
        "reversed cotangent": lambda q, k, v: jax.nn.softmax(scaled_back(scores(q, k), -0.5)) @ v,
        "linear call": _linear_call,
        "remat": lambda q, k, v: (
            jax.checkpoint(lambda q, k: jax.nn.softmax(causal(scores(q, k))))(q, k) @ v
        ),
        "nested remat": jax.checkpoint(
            lambda q, k, v: jax.checkpoint(lambda s: jax.nn.softmax(causal(s)))(scores(q, k)) @ v
        ),
        "remat that saves products": jax.checkpoint(
            lambda q, k, v: jax.nn.softmax(causal(scores(q, k))) @ v,
            policy=jax.checkpoint_policies.dots_saveable,
        ),
        "infinite derivative": _squared_distance_root,
        "mended derivative": _saved_root,
        "derivative inside": lambda q, k, v: (
            jax.grad(lambda q: (jax.nn.softmax(causal(scores(q, k))) @ v).sum())(q) * v
        ),
        "relu kink": lambda q, k, v: jax.nn.relu(scores(q, q) - scores(q, q)) @ v,
        "abs kink": lambda q, k, v: jnp.abs(q[:, None] - q[None]).sum(-1) @ v,
        "maximum of equals": lambda q, k, v: (
            ((s := jnp.round(scores(q, k))) - s.max(-1, keepdims=True)) @ v
        ),
    },
    three,
)
