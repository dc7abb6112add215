"""Recurrences in the spellings in which people write them, and near-misses that are none.

Each is a function of arrays whose first result has a time axis, with the shapes of its arguments.
All are written plainly here, after the papers named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

T, D, N, B = 12, 3, 4, 2
"""Steps, channels, states, and samples in a batch."""


@dataclass(frozen=True)
class Recurrence:
    """Attributes:
    shapes: of the arguments, normally distributed numbers. kinds: of the systems of its first
        loop, as the values of `Kind`, or none of them for a near-miss.
    """

    name: str
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    is_complex: bool = False


AFFINE: list[Recurrence] = []
NEAR_MISSES: list[Recurrence] = []


def affine(*shapes: tuple[int, ...], is_complex: bool = False) -> Callable[[Any], Any]:
    def add(function: Any) -> Any:
        AFFINE.append(Recurrence(function.__name__, function, shapes, is_complex))
        return function

    return add


def near_miss(*shapes: tuple[int, ...]) -> Callable[[Any], Any]:
    def add(function: Any) -> Any:
        NEAR_MISSES.append(Recurrence(function.__name__, function, shapes))
        return function

    return add


def gate(x: jax.Array) -> jax.Array:
    return jax.nn.sigmoid(x)


@affine((T, D))
def ema(x):
    return lax.scan(lambda h, x: ((0.9 * h + 0.1 * x),) * 2, jnp.zeros(D), x)[1]


@affine((T, D))
def ema_as_a_step_towards(x):
    def step(h, x):
        h = h + 0.1 * (x - h)
        return h, h

    return lax.scan(step, x[0], x)[1]


@affine((T, D))
def ema_that_returns_what_was_before(x):
    return lax.scan(lambda h, x: (0.5 * (h + x), h), jnp.ones(D), x)[1]


@affine((T, D), (D,))
def leaky_integrator_divided(x, tau):
    def step(v, x):
        return (v * 3 + x) / (4 + tau**2), v

    return lax.scan(step, jnp.zeros(D), x)[1]


@affine((T, D), (D, N), (D, N))
def min_gru(x, wz, wh):
    """L. Feng et al., "Were RNNs all we needed?", 2024."""

    def step(h, x):
        z = gate(x @ wz)
        h = (1 - z) * h + z * (x @ wh)
        return h, h

    return lax.scan(step, jnp.zeros(N), x)[1]


@affine((B, T, D), (D, N), (D, N))
def min_gru_of_a_batch(x, wz, wh):
    def step(h, x):
        z = gate(x @ wz)
        return (h - z * h + z * jnp.tanh(x @ wh),) * 2

    return lax.scan(step, jnp.zeros((B, N)), x.swapaxes(0, 1))[1]


@affine((T, D), (D, N), (D, N), (D, N))
def min_lstm(x, wf, wi, wh):
    def step(h, x):
        f, i = gate(x @ wf), gate(x @ wi)
        h = f / (f + i) * h + i / (f + i) * (x @ wh)
        return h, h

    return lax.scan(step, jnp.zeros(N), x)[1]


@affine((T, D), (D, N), (D, N), (D, D))
def simple_recurrent_unit(x, wf, wr, w):
    """T. Lei et al., "Simple recurrent units", 2018."""

    def step(c, x):
        f, r = gate(x @ wf)[:D], gate(x @ wr)[:D]
        c = f * c + (1 - f) * (x @ w)
        return c, r * jnp.tanh(c) + (1 - r) * x

    return lax.scan(step, jnp.zeros(D), x)[1]


@affine((T, D), (D, D), (D, D))
def qrnn_pooling(x, wz, wf):
    z, f = jnp.tanh(x @ wz), gate(x @ wf)
    return lax.scan(lambda c, zf: (zf[1] * c + (1 - zf[1]) * zf[0],) * 2, jnp.zeros(D), (z, f))[1]


@affine((T, D), (T, D), (D, N), (T, N), (T, N))
def mamba(u, dt, a, b, c):
    """A. Gu and T. Dao, "Mamba", 2023: the selective scan."""

    def step(h, now):
        u, dt, b, c = now
        dt = jax.nn.softplus(dt)
        h = jnp.exp(dt[:, None] * -jnp.exp(a)) * h + (dt * u)[:, None] * b[None]
        return h, jnp.einsum("dn,n->d", h, c)

    return lax.scan(step, jnp.zeros((D, N)), (u, dt, b, c))[1]


@affine((B, T, D), (B, T, D), (D, N), (B, T, N), (B, T, N))
def mamba_by_vmap(u, dt, a, b, c):
    return jax.vmap(mamba, (0, 0, None, 0, 0))(u, dt, a, b, c)


@affine((B, T, D), (B, T, D), (D, N), (B, T, N), (B, T, N), (D,))
def mamba_with_einsums_and_skip(u, dt, a, b, c, skip):
    decay = jnp.exp(jnp.einsum("btd,dn->tbdn", jax.nn.softplus(dt), -jnp.exp(a)))
    drive = jnp.einsum("btd,btn,btd->tbdn", dt, b, u)

    def step(h, now):
        decay, drive, c = now
        h = h * decay + drive
        return h, jnp.einsum("bdn,bn->bd", h, c)

    y = lax.scan(step, jnp.zeros((B, D, N)), (decay, drive, c.swapaxes(0, 1)))[1]
    return y + u.swapaxes(0, 1) * skip


@affine((T, D), (N,), (N, D), is_complex=True)
def lru(x, nu, bm):
    """A. Orvieto et al., "Resurrecting recurrent neural networks", 2023."""
    lam = jnp.exp(-jnp.exp(nu) + 1j * nu)

    def step(h, x):
        h = lam * h + (bm + 1j * bm[::-1]) @ x
        return h, jnp.real(h)

    return lax.scan(step, jnp.zeros(N, lam.dtype), x)[1]


@affine((T, D), (N,), (N, D), (D, N), is_complex=True)
def lru_with_output_matrix(x, nu, bm, cm):
    lam, bc = jnp.exp(-jnp.exp(nu) + 1j * nu), lax.complex(bm, 0.5 * bm)

    def step(h, x):
        h = lam * h + bc @ x
        return h, (lax.complex(cm, -cm) @ h).real

    return lax.scan(step, jnp.zeros(N, lam.dtype), x)[1]


@affine((T, D), (D,), (D,))
def rotation_as_two_real_carries(x, r, t):
    def step(c, x):
        p, q = c
        a, b = gate(r) * jnp.cos(t), gate(r) * jnp.sin(t)
        p, q = a * p - b * q + x, b * p + a * q
        return (p, q), p

    return lax.scan(step, (jnp.zeros(D), jnp.zeros(D)), x)[1]


@affine((T, D), (D,))
def damped_oscillator(f, k):
    def step(c, f):
        x, v = c
        v = v + 0.1 * (f - k**2 * x - 0.2 * v)
        return (x + 0.1 * v, v), x

    return lax.scan(step, (jnp.zeros(D), jnp.zeros(D)), f)[1]


@affine((T, N), (T, N), (T, D))
def linear_attention(q, k, v):
    """A. Katharopoulos et al., "Transformers are RNNs", 2020."""

    def step(s, now):
        q, k, v = now
        s = s + k[:, None] * v[None]
        return s, q @ s

    return lax.scan(step, jnp.zeros((N, D)), (q, k, v))[1]


@affine((T, N), (T, N), (T, D))
def normalised_linear_attention(q, k, v):
    def step(c, now):
        (s, z), (q, k, v) = c, now
        q, k = jax.nn.elu(q) + 1, jax.nn.elu(k) + 1
        s, z = s + jnp.outer(k, v), z + k
        return (s, z), (q @ s) / (q @ z + 1e-6)

    return lax.scan(step, (jnp.zeros((N, D)), jnp.zeros(N)), (q, k, v))[1]


@affine((T, B, N), (T, B, N), (T, B, D))
def linear_attention_of_heads_by_einsum(q, k, v):
    def step(s, now):
        q, k, v = now
        s = s + jnp.einsum("bn,bd->bnd", k, v)
        return s, jnp.einsum("bn,bnd->bd", q, s)

    return lax.scan(step, jnp.zeros((B, N, D)), (q, k, v))[1]


@affine((T, N), (T, N), (T, D), (T,))
def gated_linear_attention_with_one_decay(q, k, v, g):
    def step(s, now):
        q, k, v, g = now
        s = gate(g) * s + jnp.outer(k, v)
        return s, q @ s

    return lax.scan(step, jnp.zeros((N, D)), (q, k, v, g))[1]


@affine((T, N), (T, N), (T, D), (T, N))
def gated_linear_attention(q, k, v, g):
    """S. Yang et al., "Gated linear attention", 2024: a decay for each key's channel."""

    def step(s, now):
        q, k, v, g = now
        s = gate(g)[:, None] * s + k[:, None] * v[None, :]
        return s, jnp.einsum("n,nd->d", q, s)

    return lax.scan(step, jnp.zeros((N, D)), (q, k, v, g))[1]


@affine((B, T, N), (B, T, N), (B, T, D))
def retention_of_heads(q, k, v):
    """Y. Sun et al., "Retentive network", 2023."""
    decay = 1 - 2.0 ** (-5 - jnp.arange(B))

    def step(s, now):
        q, k, v = now
        s = decay[:, None, None] * s + k[:, :, None] * v[:, None, :]
        return s, jnp.einsum("hn,hnd->hd", q, s)

    return lax.scan(
        step, jnp.zeros((B, N, D)), jax.tree.map(lambda x: x.swapaxes(0, 1), (q, k, v))
    )[1]


@affine((T, B, N), (T, B, N), (T, B, D), (T, B))
def state_space_duality(c, b, x, a):
    """T. Dao and A. Gu, "Transformers are SSMs", 2024."""

    def step(h, now):
        c, b, x, a = now
        h = jnp.exp(-jax.nn.softplus(a))[:, None, None] * h + x[:, :, None] * b[:, None, :]
        return h, (h * c[:, None, :]).sum(-1)

    return lax.scan(step, jnp.zeros((B, D, N)), (c, b, x, a))[1]


@affine((T, D), (T, D), (D,), (D,))
def rwkv4(k, v, w, u):
    """B. Peng et al., "RWKV", 2023, with the running maximum."""

    def step(c, now):
        (a, b, p), (k, v) = c, now
        q = jnp.maximum(p, u + k)
        e1, e2 = jnp.exp(p - q), jnp.exp(u + k - q)
        y = (e1 * a + e2 * v) / (e1 * b + e2)
        q = jnp.maximum(p - jnp.exp(w), k)
        e1, e2 = jnp.exp(p - jnp.exp(w) - q), jnp.exp(k - q)
        return (e1 * a + e2 * v, e1 * b + e2, q), y

    return lax.scan(step, (jnp.zeros(D), jnp.zeros(D), jnp.full(D, -1e30)), (k, v))[1]


@affine((T, D), (T, D), (D,))
def rwkv4_without_stabiliser(k, v, w):
    def step(c, now):
        (a, b), (k, v) = c, now
        d = jnp.exp(-jnp.exp(w))
        a, b = d * a + jnp.exp(k) * v, d * b + jnp.exp(k)
        return (a, b), a / b

    return lax.scan(step, (jnp.zeros(D), jnp.zeros(D)), (k, v))[1]


@affine((T, N), (T, N), (T, D), (T,))
def delta_net(q, k, v, beta):
    """S. Yang et al., "Parallelizing linear transformers with the delta rule", 2024."""
    k = k / jnp.linalg.norm(k, axis=-1, keepdims=True)

    def step(s, now):
        q, k, v, beta = now
        s = s + gate(beta) * jnp.outer(k, v - k @ s)
        return s, q @ s

    return lax.scan(step, jnp.zeros((N, D)), (q, k, v, beta))[1]


@affine((T, D), (N, N), (N, D))
def dense_state_space(x, a, b):
    a = 0.3 * a
    return lax.scan(lambda h, x: (a @ h + b @ x, h), jnp.zeros(N), x)[1]


@affine((T, B, D), (N, N), (D, N))
def dense_rows(x, a, b):
    return lax.scan(lambda h, x: (0.3 * h @ a + x @ b,) * 2, jnp.zeros((B, N)), x)[1]


@affine((T,), (N, N), (N,), (N,))
def s4_recurrent_mode(u, a, b, c):
    """A. Gu et al., "Efficiently modeling long sequences", 2021; bilinear steps of 0.1."""
    eye = jnp.eye(N)
    left = jnp.linalg.inv(eye - 0.05 * a)
    ab, bb = left @ (eye + 0.05 * a), left @ b * 0.1

    def step(h, u):
        h = ab @ h + bb * u
        return h, c @ h

    return lax.scan(step, jnp.zeros(N), u)[1]


@affine((T, D), (D, N), (D, N), (D, N))
def s4d_real(u, a, b, c):
    decay = jnp.exp(-jnp.exp(a))

    def step(h, u):
        h = decay * h + b * u[:, None]
        return h, jnp.sum(c * h, axis=-1)

    return lax.scan(step, jnp.zeros((D, N)), u)[1]


@affine((T, N), (N, N))
def hmm_forward(log_b, a):
    log_a = jax.nn.log_softmax(a, axis=1)

    def step(alpha, log_b):
        alpha = jax.nn.logsumexp(alpha[:, None] + log_a, axis=0) + log_b
        return alpha, alpha

    return lax.scan(step, jnp.zeros(N), log_b)[1]


@affine((T, N), (N, N))
def hmm_forward_by_hand(log_b, log_a):
    def step(alpha, log_b):
        top = alpha.max()
        alpha = jnp.log(jnp.exp(alpha - top) @ jnp.exp(log_a)) + top + log_b
        return alpha, alpha

    return lax.scan(step, jnp.zeros(N), log_b)[1]


@affine((T, N), (N,))
def ctc(scores, skips):
    """From each state to itself, the next, and some to the one after: shifted, side by side."""
    none = jnp.full(2, -1e30)

    def step(alpha, score):
        one = jnp.concatenate([none[:1], alpha[:-1]])
        two = jnp.where(skips > 0, jnp.concatenate([none, alpha[:-2]]), -1e30)
        alpha = jax.nn.logsumexp(jnp.stack([alpha, one, two]), axis=0) + score
        return alpha, alpha

    return lax.scan(step, jnp.full(N, -1e30).at[0].set(0.0), scores)[1]


@affine((T, D))
def running_log_sum_exp(x):
    return lax.scan(lambda c, x: (jnp.logaddexp(c, x),) * 2, jnp.full(D, -1e30), x)[1]


@affine((T, D), (T, D))
def min_gru_in_log_space(k, h):
    def step(c, now):
        k, h = now
        c = jnp.logaddexp(c - jax.nn.softplus(k), h - jax.nn.softplus(-k))
        return c, jnp.exp(c)

    return lax.scan(step, jnp.zeros(D), (k, h))[1]


@affine((T, D))
def running_maximum(x):
    return lax.scan(lambda c, x: (jnp.maximum(c, x),) * 2, jnp.full(D, -jnp.inf), x)[1]


@affine((T, D))
def decaying_maximum(x):
    return lax.scan(lambda c, x: (jnp.maximum(c - 0.1, x),) * 2, x[0], x)[1]


@affine((T, N), (N, N))
def viterbi(log_b, log_a):
    def step(c, log_b):
        c = (c[:, None] + log_a).max(0) + log_b
        return c, c

    return lax.scan(step, jnp.zeros(N), log_b)[1]


@affine((T, D))
def edit_distance_row(cost):
    return lax.scan(lambda c, x: (jnp.minimum(c + 1, x),) * 2, jnp.zeros(D), cost)[1]


@affine((T, D))
def cumulative_sum(x):
    return lax.scan(lambda c, x: (c + x,) * 2, jnp.zeros(D), x)[1]


@affine((T, D))
def cumulative_product(x):
    return lax.scan(lambda c, x: (c * jnp.tanh(x),) * 2, jnp.ones(D), x)[1]


@affine((T, D))
def adam_moments(g):
    """D. Kingma and J. Ba, "Adam", 2015: two moments and a counter."""

    def step(c, g):
        m, v, t = c
        t = t + 1
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return (m, v, t), (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)

    return lax.scan(step, (jnp.zeros(D), jnp.zeros(D), jnp.zeros(())), g)[1]


@affine((T, D))
def momentum_with_weight_decay(g):
    def step(c, g):
        p, m = c
        m = 0.9 * m + g + 0.01 * p
        return (p - 0.1 * m, m), p

    return lax.scan(step, (jnp.ones(D), jnp.zeros(D)), g)[1]


@affine((T, D), (T, D), (T, D))
def generalised_advantages(r, v, done):
    """J. Schulman et al., 2016; from the last to the first."""
    after = jnp.roll(v, -1, 0)

    def step(c, now):
        r, v, after, done = now
        alive = 1.0 - (done > 0)
        c = r + 0.99 * after * alive - v + 0.99 * 0.95 * alive * c
        return c, c

    return lax.scan(step, jnp.zeros(D), (r, v, after, done), reverse=True)[1]


@affine((T, D), (T,))
def discounted_return_with_resets(r, done):
    def step(c, now):
        r, done = now
        c = r + 0.9 * jnp.where(done > 0, 0.0, c)
        return c, c

    return lax.scan(step, jnp.zeros(D), (r, done), reverse=True)[1]


@affine((T, D))
def kalman_with_constant_gain(z):
    def step(c, z):
        x, v = c
        guess = x + 0.1 * v
        r = z - guess
        return (guess + 0.5 * r, v + 0.2 * r), guess

    return lax.scan(step, (jnp.zeros(D), jnp.zeros(D)), z)[1]


@affine((T, D))
def held_samples(x):
    return lax.scan(lambda c, x: (jnp.where(x > 0, x, c),) * 2, jnp.zeros(D), x)[1]


@affine((T, D))
def differences(x):
    return lax.scan(lambda before, x: (x, x - before), jnp.zeros(D), x)[1]


@affine((T, D))
def second_order_filter(x):
    def step(c, x):
        y1, y2 = c
        y = x + 0.5 * y1 - 0.3 * y2
        return (y, y1), y

    return lax.scan(step, (jnp.zeros(D), jnp.zeros(D)), x)[1]


@affine((T, D))
def window_as_a_delay_line(x):
    def step(buffer, x):
        buffer = jnp.concatenate([buffer[1:], x[None]])
        return buffer, buffer.mean(0)

    return lax.scan(step, jnp.zeros((3, D)), x)[1]


@affine((T, D))
def by_index_with_a_counter(x):
    def step(i, h):
        return 0.9 * h + x[i] / (i + 1)

    return lax.fori_loop(0, T, step, jnp.zeros(D))[None]


@affine((T, D))
def one_scan_within_another(x):
    def outer(c, x):
        inner = lax.scan(lambda h, y: (0.5 * h + y,) * 2, jnp.zeros(()), x)[1]
        return 0.9 * c + inner, c

    return lax.scan(outer, jnp.zeros(D), x)[1]


@affine((T, D), (D, D))
def stacked_under_jit_and_remat(x, w):
    @jax.jit
    def layer(x):
        def step(h, x):
            return jax.checkpoint(lambda h, x: ((0.9 * h + jnp.tanh(x @ w)),) * 2)(h, x)

        return lax.scan(step, jnp.zeros(D), x)[1]

    return layer(layer(x))


@affine((T, D))
def some_elements_replaced(x):
    """Their past is forgotten in each step: the matrix has zeros there."""

    def step(h, x):
        h = (0.9 * h + x).at[jnp.array([0, 2])].set(x[1])
        return h, h

    return lax.scan(step, jnp.ones(D), x)[1]


@affine((T, D))
def shifted_by_one(x):
    """A delay line: elements are moved into places that are free of them."""

    def step(h, x):
        h = jnp.zeros(D).at[jnp.array([1, 2])].set(0.5 * h[:2]) + x
        return h, h

    return lax.scan(step, jnp.ones(D), x)[1]


@near_miss((T, D), (D, D))
def tanh_rnn(x, w):
    return lax.scan(lambda h, x: (jnp.tanh(x + h @ w),) * 2, jnp.zeros(D), x)[1]


@near_miss((T, D), (D, D), (D, D))
def gru(x, w, u):
    def step(h, x):
        z, r = gate(x @ w + h @ u), gate(x @ u + h @ w)
        h = (1 - z) * h + z * jnp.tanh(x @ w + (r * h) @ u)
        return h, h

    return lax.scan(step, jnp.zeros(D), x)[1]


@near_miss((T, D), (D, 4 * N), (N, 4 * N))
def lstm(x, w, u):
    def step(c, x):
        h, c = c
        i, f, g, o = jnp.split(x @ w + h @ u, 4)
        c = gate(f) * c + gate(i) * jnp.tanh(g)
        h = gate(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (jnp.zeros(N), jnp.zeros(N)), x)[1]


@near_miss((T, D))
def squared_carry(x):
    return lax.scan(lambda h, x: (0.1 * h * h + x,) * 2, jnp.zeros(D), x)[1]


@near_miss((T, D))
def carry_to_a_power(x):
    return lax.scan(lambda h, x: (0.1 * h**2 + x,) * 2, jnp.zeros(D), x)[1]


@near_miss((T, D))
def carry_in_a_condition(x):
    return lax.scan(lambda h, x: (jnp.where(h > 0, 0.5 * h, h) + x,) * 2, jnp.zeros(D), x)[1]


@near_miss((T, D))
def carry_in_a_branch(x):
    def step(h, x):
        h = lax.cond(h.sum() > 0, lambda h: 0.5 * h, lambda h: h + 1, h) + x
        return h, h

    return lax.scan(step, jnp.zeros(D), x)[1]


@near_miss((T, D))
def carry_in_an_index(x):
    def step(c, x):
        h, k = c
        h = 0.5 * h + x[k % D]
        return (h, (k + (h > 0)).astype(jnp.int32)), h

    return lax.scan(step, (jnp.zeros(()), jnp.asarray(0, jnp.int32)), x)[1]


@near_miss((T, D))
def clipped(x):
    return lax.scan(lambda h, x: (jnp.clip(h + x, -1, 1),) * 2, jnp.zeros(D), x)[1]


@near_miss((T, D))
def rectified(x):
    return lax.scan(lambda h, x: (jax.nn.relu(0.9 * h + x),) * 2, jnp.zeros(D), x)[1]


@near_miss((T, D))
def absolute(x):
    return lax.scan(lambda h, x: (jnp.abs(h) - x,) * 2, jnp.zeros(D), x)[1]


@near_miss((T, D))
def product_of_two_carries(x):
    def step(c, x):
        a, b = c
        return (0.5 * a + 0.1 * b, 0.3 * a * b + x), b

    return lax.scan(step, (jnp.ones(D), jnp.zeros(D)), x)[1]


@near_miss((T, D))
def divided_by_the_carry(x):
    return lax.scan(lambda h, x: ((1 + x**2) / (1 + h),) * 2, jnp.ones(D), x)[1]


@near_miss((T, D))
def normalised_carry(x):
    def step(h, x):
        h = 0.9 * h + x
        return h / (1e-3 + jnp.linalg.norm(h)), h

    return lax.scan(step, jnp.zeros(D), x)[1]


@near_miss((T, D))
def rounded_carry(x):
    return lax.scan(lambda h, x: (jnp.round(2 * h) / 4 + x,) * 2, jnp.zeros(D), x)[1]


@near_miss((T, D))
def maximum_scaled(x):
    return lax.scan(lambda h, x: (jnp.maximum(-0.5 * h, x),) * 2, jnp.zeros(D), x)[1]


@near_miss((T, D))
def conjugated_carry(x):
    def step(h, x):
        h = 0.5j * jnp.conj(h) + x
        return h, jnp.real(h)

    return lax.scan(step, jnp.zeros(D, jnp.result_type(x.dtype, jnp.complex64)), x)[1]


@near_miss((T, D))
def log_sum_along_the_wrong_axis(x):
    def step(c, x):
        top = c.max(0)
        e = jnp.exp(c - top[None, :])
        return jnp.log(e.sum(1)[:, None] * jnp.ones((D, D))) + top[None, :] + x, c.sum(0)

    return lax.scan(step, jnp.eye(D), x)[1]


@near_miss((T, D))
def log_space_beside_its_double(x):
    def step(c, x):
        c = jax.nn.logsumexp(jnp.stack([c, 2 * c[::-1]]), axis=0) + x
        return c, c

    return lax.scan(step, jnp.zeros(D), x)[1]


@near_miss((T, D))
def log_space_with_another_maximum_put_back(x):
    def step(c, x):
        e = jnp.exp(jnp.stack([c, c[::-1]]) - c.max())
        c = jnp.log(e.sum(0)) + c.min() + x
        return c, c

    return lax.scan(step, jnp.zeros(D), x)[1]


@near_miss((T, D))
def log_space_with_a_sum_outside(x):
    return lax.scan(lambda c, x: (jnp.log(jnp.exp(c) + 1) * 0.5 + x,) * 2, jnp.zeros(D), x)[1]


@near_miss((T, D))
def whole_numbers_divided(x):
    def step(c, x):
        c = c // 2 + (x > 0)
        return c, c * x

    return lax.scan(step, jnp.full(D, 100), x)[1]


@near_miss((T, D))
def replaced_where_the_carry_says(x):
    def step(h, x):
        h = (0.9 * h + x).at[(h[0] > 0).astype(int)].set(x[1])
        return h, h

    return lax.scan(step, jnp.ones(D), x)[1]


@near_miss((T, D))
def rounded_to_few_bits(x):
    """As where quantised states are trained: each step is off by a tenth."""

    def step(h, x):
        h = lax.reduce_precision(0.9 * h + x, exponent_bits=5, mantissa_bits=2)
        return h, h

    return lax.scan(step, jnp.zeros(D), x)[1]


@near_miss((T, D))
def kept_in_eight_bits(x):
    def step(h, x):
        h = (0.9 * h + x).astype(jnp.float8_e4m3fn).astype(x.dtype)
        return h, h

    return lax.scan(step, jnp.zeros(D), x)[1]


@affine((T, D))
def kept_in_sixteen_bits(x):
    def step(h, x):
        h = 0.9 * h + x
        kept = lax.reduce_precision(h, exponent_bits=11, mantissa_bits=52)
        return kept, kept.astype(jnp.bfloat16)

    return lax.scan(step, jnp.zeros(D), x)[0]
