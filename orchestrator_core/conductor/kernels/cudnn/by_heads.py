"""Attention of one head after the other: for what cuDNN does not do, which is seldom.

Nothing is kept of all heads but what is returned, so that a program that need not do this takes no
more memory for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.kernels.attention import Softmax

Attend: TypeAlias = Callable[[Any, Any, Any], tuple[Any, Any]]
"""Of queries, keys and values of four axes: the result, and of each query the logarithm of its sum
of exponentials, (batch, heads, length)."""


def by_heads(softmax: Softmax, heads_first: bool) -> Attend:
    """In 32 bits, and what a mask sets as it is."""

    def attend(q: Any, k: Any, v: Any) -> tuple[Any, Any]:
        given = [each if heads_first else jnp.swapaxes(each, 1, 2) for each in (q, k, v)]
        shared = given[0].shape[1] // given[1].shape[1]
        given[1:] = [jnp.repeat(each, shared, 1) for each in given[1:]]
        each_head = jax.checkpoint(lambda head: _of_head(softmax, *head))
        flat = [each.reshape(-1, *each.shape[2:]) for each in given]
        made, sums = (
            each.reshape(*q.shape[:1], -1, *each.shape[1:]) for each in lax.map(each_head, flat)
        )
        return (made if heads_first else jnp.swapaxes(made, 1, 2)), sums

    return attend


def _of_head(softmax: Softmax, q: Any, k: Any, v: Any) -> tuple[Any, Any]:
    """(length, d) each."""
    scores = softmax.scale * jnp.einsum("id,jd->ij", q, k, preferred_element_type=jnp.float32)
    mask = softmax.mask
    if mask is not None:
        distance = jnp.arange(len(q))[:, None] - jnp.arange(len(k))[None, :]
        is_seen = (distance >= 0) & (distance < (mask.window or len(k)))
        scores = jnp.where(is_seen, scores, mask.fill)
    made = jnp.einsum("ij,jd->id", jax.nn.softmax(scores), v.astype(jnp.float32))
    return made.astype(v.dtype), jax.nn.logsumexp(scores, -1)
