"""Attention and its gradient, done by cuDNN on a GPU and as they were written elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.kernels.attention import Attention, Made
from orchestrator_core.conductor.kernels.cudnn.by_heads import Attend, by_heads
from orchestrator_core.conductor.kernels.cudnn.layout import Layout

HIDDEN = 104.0
"""The exponential of what is less than this below the largest score is zero in 32 bits and less."""


@dataclass(frozen=True)
class Program:
    """Called with what `before` reads: queries, keys and values, for gradients that of the result,
    and whatever else. What is several of these is there once.

    Attributes:
        made: what is returned. before: the same as it was written.
    """

    found: Attention
    made: tuple[Made, ...]
    before: Graph

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        made: Any = lax.platform_dependent(*arrays, cuda=self.by_cudnn, default=self.as_it_was)
        return list(made)

    def as_it_was(self, *arrays: Any) -> list[Any]:
        return evaluate(self.before, arrays)

    def by_cudnn(self, *arrays: Any) -> list[Any]:
        mask = self.found.softmax.mask
        made, sums = self.by(self._attend, arrays)
        if mask is None or math.isinf(mask.fill):
            return made
        # What the mask sets has no part in a sum whose logarithm is so much larger.
        keys = self.found.softmax.k[0].size
        are_usual = (sums > mask.fill + HIDDEN + math.log(keys)).all()
        return list(lax.cond(are_usual, _kept, self._seldom, made, list(arrays)))

    def by(self, attend: Attend, arrays: Sequence[Any]) -> tuple[list[Any], Any]:
        """What is returned if it is done so, and sums."""
        found, layout = self.found, Layout.of(self.found.softmax)
        known = dict(zip(self.before.inputs, arrays, strict=True))
        keys = (found.softmax.q, found.softmax.k, found.v)
        given = [layout.laid(key, known[key[0]]) for key in keys]
        if found.cotangent is None:
            made, sums = attend(*given)
            return self._as_values([made], layout), sums
        # So also where only the result is wanted: XLA finds it made already for the gradients.
        (made, sums), back = jax.vjp(attend, *given)
        if self.made[0].name == "out":
            return self._as_values([made], layout), sums
        cotangent = layout.laid(found.cotangent, known[found.cotangent[0]]).astype(made.dtype)
        gradients = dict(zip("qkv", back((cotangent, jnp.zeros_like(sums))), strict=True))
        return self._as_values([gradients[each.name] for each in self.made], layout), sums

    def _as_values(self, arrays: Sequence[Any], layout: Layout) -> list[Any]:
        return [
            layout.as_value(each.key, array if each.factor == 1.0 else array * each.factor)
            for each, array in zip(self.made, arrays, strict=True)
        ]

    def _attend(self, q: Any, k: Any, v: Any) -> tuple[Any, Any]:
        softmax, layout = self.found.softmax, Layout.of(self.found.softmax)
        made: tuple[Any, Any] = _jax.cudnn_attention(
            q,
            k,
            v,
            scale=softmax.scale,
            is_causal=softmax.mask is not None,
            window=None if softmax.mask is None else softmax.mask.window,
            heads_first=layout.heads_first,
        )
        return made

    def _seldom(self, made: list[Any], arrays: list[Any]) -> list[Any]:
        layout = Layout.of(self.found.softmax)
        return self.by(by_heads(self.found.softmax, layout.heads_first), arrays)[0]


def _kept(made: list[Any], arrays: list[Any]) -> list[Any]:
    return made
