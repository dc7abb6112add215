"""Where batch, heads, queries, keys and features stand, and by which products they meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

B, H, G, S, D = 2, 4, 2, 96, 8
"""Batch, heads, heads of keys where those are fewer, queries and keys, features of a head."""

FULL = (B, H, S, D)


@dataclass(frozen=True)
class Layout:
    """Attributes:
    shapes: of q, k, v. scores: of q and k; output: of the weights and v. axis: that of keys in the
        scores. place: brings a mask [1 or B, 1 or H, S, T] to where the scores have these axes.
    is_whole: can it take masks that differ by batch and head?
    """

    name: str
    shapes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    scores: Callable[[Array, Array], Array]
    output: Callable[[Array, Array], Array]
    axis: int = -1
    place: Callable[[Array], Array] = lambda mask: mask
    is_whole: bool = True


def einsum(name: str, scores: str, output: str, *shapes: tuple[int, ...], **rest: Any) -> Layout:
    """A layout of two einsums; `shapes` of q, k, v, or one for all."""
    three: Any = shapes if len(shapes) == 3 else (*shapes, *shapes, *shapes)
    return Layout(
        name,
        three,
        lambda q, k: jnp.einsum(scores, q, k),
        lambda p, v: jnp.einsum(output, p, v),
        **rest,
    )


def _merged(a: Array) -> Array:
    return a.reshape(B * H, *a.shape[2:])


def _place_merged(mask: Array) -> Array:
    if mask.shape[:2] == (1, 1):
        return mask[0]
    return _merged(jnp.broadcast_to(mask, (B, H, *mask.shape[2:])))


def _place_grouped(mask: Array) -> Array:
    b, h, *rest = mask.shape
    return mask[:, :, None] if h == 1 else mask.reshape(b, G, H // G, *rest)


def _heads_one_by_one(q: Array, k: Array) -> Array:
    return jnp.stack([q[:, h] @ k[:, h].mT for h in range(H)], axis=1)


def _grouped(q: Array) -> Array:
    return q.reshape(B, G, H // G, *q.shape[2:])


def _query_heads_as_rows(q: Array, k: Array) -> Array:
    """One key for all heads: heads and queries are rows of one matrix."""
    return (q.reshape(B, H * S, D) @ k.mT).reshape(B, H, S, -1)


FEW = (B, G, S, D)
ONE = (B, S, D)
TIME = (S, B, H, D)

BATCHED = (((3,), (3,)), ((0, 1), (0, 1)))
WEIGHED = (((3,), (2,)), ((0, 1), (0, 1)))

LAYOUTS = [
    einsum("bhsd, einsum", "bhqd,bhkd->bhqk", "bhqk,bhkd->bhqd", FULL),
    Layout("bhsd, matmul", (FULL,) * 3, lambda q, k: q @ k.mT, lambda p, v: p @ v),
    Layout(
        "bhsd, swapaxes",
        (FULL,) * 3,
        lambda q, k: jnp.matmul(q, jnp.swapaxes(k, -1, -2)),
        lambda p, v: jnp.matmul(p, v),
    ),
    Layout(
        "bhsd, dot_general",
        (FULL,) * 3,
        lambda q, k: lax.dot_general(q, k, BATCHED),
        lambda p, v: lax.dot_general(p, v, WEIGHED),
    ),
    einsum("bshd", "bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd", (B, S, H, D)),
    Layout(
        "bshd, transposed first",
        ((B, S, H, D),) * 3,
        lambda q, k: q.transpose(0, 2, 1, 3) @ k.transpose(0, 2, 3, 1),
        lambda p, v: (p @ v.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3),
    ),
    einsum(
        "bshd, heads between queries and keys",
        "bqhd,bkhd->bqhk",
        "bqhk,bkhd->bqhd",
        (B, S, H, D),
        place=lambda mask: mask.swapaxes(1, 2),
    ),
    einsum(
        "keys before queries",
        "bhqd,bhkd->bhkq",
        "bhkq,bhkd->bhqd",
        FULL,
        axis=-2,
        place=lambda mask: mask.swapaxes(2, 3),
    ),
    einsum(
        "keys first",
        "bhqd,bhkd->kbqh",
        "kbqh,bhkd->bhqd",
        FULL,
        axis=0,
        place=lambda mask: mask.transpose(3, 0, 2, 1),
    ),
    einsum("time first", "qbhd,kbhd->bhqk", "bhqk,kbhd->qbhd", TIME),
    einsum("features before heads", "bqdh,bkdh->bhqk", "bhqk,bkdh->bqdh", (B, S, D, H)),
    Layout(
        "batch and heads merged",
        (FULL,) * 3,
        lambda q, k: jnp.einsum("nqd,nkd->nqk", _merged(q), _merged(k)),
        lambda p, v: (p @ _merged(v)).reshape(B, H, S, D),
        place=_place_merged,
    ),
    Layout(
        "one product for all heads of one key",
        (FULL, ONE, ONE),
        _query_heads_as_rows,
        lambda p, v: (p.reshape(B, H * S, -1) @ v).reshape(B, H, S, D),
    ),
    einsum("one key for all heads", "bhqd,bkd->bhqk", "bhqk,bkd->bhqd", FULL, ONE, ONE),
    Layout(
        "keys repeated",
        (FULL, FEW, FEW),
        lambda q, k: q @ jnp.repeat(k, H // G, axis=1).mT,
        lambda p, v: p @ jnp.repeat(v, H // G, axis=1),
    ),
    Layout(
        "keys broadcast and reshaped",
        (FULL, FEW, FEW),
        lambda q, k: q @ _spread(k).mT,
        lambda p, v: p @ _spread(v),
    ),
    Layout(
        "keys taken by index",
        (FULL, FEW, FEW),
        lambda q, k: q @ k[:, jnp.arange(H) // (H // G)].mT,
        lambda p, v: p @ v[:, jnp.arange(H) // (H // G)],
    ),
    Layout(
        "queries grouped",
        (FULL, FEW, FEW),
        lambda q, k: jnp.einsum("bngqd,bnkd->bngqk", _grouped(q), k),
        lambda p, v: jnp.einsum("bngqk,bnkd->bngqd", p, v).reshape(B, H, S, D),
        place=_place_grouped,
    ),
    Layout(
        "vmapped twice",
        (FULL,) * 3,
        jax.vmap(jax.vmap(lambda q, k: q @ k.T)),
        jax.vmap(jax.vmap(lambda p, v: p @ v)),
    ),
    Layout("heads one by one", (FULL,) * 3, _heads_one_by_one, lambda p, v: p @ v),
    Layout(
        "multiplied and summed",
        (FULL,) * 3,
        lambda q, k: (q[:, :, :, None] * k[:, :, None]).sum(-1),
        lambda p, v: (p[..., None] * v[:, :, None]).sum(-2),
    ),
    einsum(
        "one head, no batch",
        "qd,kd->qk",
        "qk,kd->qd",
        (S, D),
        place=lambda mask: mask[0, 0],
        is_whole=False,
    ),
    einsum(
        "other keys than queries",
        "bhqd,bhkd->bhqk",
        "bhqk,bhkd->bhqd",
        FULL,
        (B, H, 90, D),
        (B, H, 90, 6),
    ),
]


def _spread(k: Array) -> Array:
    repeated = jnp.broadcast_to(k[:, :, None], (B, G, H // G, S, D))
    return repeated.reshape(B, H, S, D)
