"""Pushforwards: tangents of outputs from those of the inputs that move, by JAX's own derivatives.

The inputs that do not move are constants, as they are for JAX outside: a tangent of real zeros
would be NaN times an infinite derivative, and would ask rules that nobody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.joint.split import Flags, reached


@dataclass(frozen=True, eq=False, slots=True)
class Pushforward:
    """Attributes:
    jaxpr: of the inputs and the tangents of those that move: the tangents of all outputs, those of
        integers as zeros of their own.
    moved: which of these depend on any of them; the others are zero.
    """

    jaxpr: _jax.Jaxpr
    moved: Flags

    @classmethod
    def of(
        cls, function: Callable[..., Sequence[Any]], avals: Sequence[Any], moving: Flags
    ) -> Pushforward:
        """Of a function of flat inputs; `moving` has an entry for each of them."""

        def push(*arrays: Any) -> list[Any]:
            primals, tangents = arrays[: len(moving)], arrays[len(moving) :]

            def of_moving(*those: Any) -> list[Any]:
                each = iter(those)
                pairs = zip(primals, moving, strict=True)
                return list(function(*(next(each) if moves else still for still, moves in pairs)))

            moved = [primal for primal, moves in zip(primals, moving, strict=True) if moves]
            made = jax.jvp(of_moving, moved, list(tangents))[1]
            return [jnp.zeros(e.shape, bool) if e.dtype == jax.dtypes.float0 else e for e in made]

        pairs = zip(avals, moving, strict=True)
        tangents = [aval.to_tangent_aval() for aval, moves in pairs if moves]
        jaxpr = _jax.trace(push, [*avals, *tangents])
        given = [False] * len(avals) + [True] * len(tangents)
        return cls(jaxpr, reached(read(jaxpr), given))

    def __call__(self, *arrays: Any) -> list[Any]:
        return list(jax.core.eval_jaxpr(*_jax.inner(self.jaxpr), *arrays))
