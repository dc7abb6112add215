"""A conducted program as one operation of JAX, with its derivatives and batches.

Derivatives are those of the original function, custom rules included: nothing that a rewrite has
put in its place is ever differentiated. The pullback (and the batch) is conducted in turn. So
``grad``, ``vmap`` and ``jit`` may stand inside and outside of ``conduct``, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.program import Program


def call(program: Program, arrays: Sequence[Any]) -> list[Any]:
    """What the program makes of arrays, or of whatever JAX traces outside. One with side effects
    runs as it was."""
    if program.jaxpr.effects:
        return program.original(*arrays)
    return list(_call.bind(*arrays, program=program))


def _evaluate(*arrays: Any, program: Program) -> list[Any]:
    return program.run(*arrays)


def _avals(*_: Any, program: Program) -> list[Any]:
    return program.out_avals


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], program: Program) -> Any:
    outputs = call(program, primals)
    moving = tuple(not _jax.is_zero(tangent) for tangent in tangents)
    given = [tangent for tangent, moves in zip(tangents, moving, strict=True) if moves]
    zeros = [_jax.zero_of(aval.to_tangent_aval()) for aval in program.out_avals]
    if not any(moving):
        return outputs, zeros
    made = _push.bind(*primals, *given, program=program, moving=moving)
    moved = [made[k] if _is_smooth(a) else zeros[k] for k, a in enumerate(program.out_avals)]
    return outputs, moved


def _batch(arrays: Sequence[Any], axes: Sequence[Any], program: Program) -> Any:
    axes = tuple(axes)
    avals = tuple(_jax.aval_of(array) for array in arrays)
    batched = jax.vmap(program.original, axes)
    other = program.other(("batch", axes, avals), batched, avals)
    return call(other, arrays), [0] * len(program.out_avals)


def _pushed(*arrays: Any, program: Program, moving: tuple[bool, ...]) -> list[Any]:
    """The tangents of all outputs; those of integers are zeros of their own type."""
    primals, given = list(arrays[: len(moving)]), iter(arrays[len(moving) :])
    zeros = [_jax.no_tangent(primal) for primal in primals]
    tangents = [next(given) if moves else zero for moves, zero in zip(moving, zeros, strict=True)]
    _, made = jax.jvp(lambda *each: program.original(*each), primals, tangents)
    return [
        tangent if _is_smooth(aval) else jnp.zeros(aval.shape, bool)
        for tangent, aval in zip(made, program.out_avals, strict=True)
    ]


def _pushed_avals(*_: Any, program: Program, moving: tuple[bool, ...]) -> list[Any]:
    return [
        aval.to_tangent_aval() if _is_smooth(aval) else _jax.ShapedArray(aval.shape, bool)
        for aval in program.out_avals
    ]


def _push_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    """Derivatives of derivatives are JAX's own."""
    zeros = [
        _jax.no_tangent(primal) if _jax.is_zero(tangent) else tangent
        for primal, tangent in zip(primals, tangents, strict=True)
    ]
    return jax.jvp(lambda *each: _pushed(*each, **params), list(primals), zeros)


def _push_batch(arrays: Sequence[Any], axes: Sequence[Any], **params: Any) -> Any:
    outputs = jax.vmap(lambda *each: _pushed(*each, **params), tuple(axes))(*arrays)
    return outputs, [0] * len(outputs)


def _pull(cotangents: Sequence[Any], *arrays: Any, program: Program, moving: Any) -> list[Any]:
    """The cotangents of the inputs that move, by the conducted pullback."""
    primals = arrays[: len(moving)]
    smooth = [_is_smooth(aval) for aval in program.out_avals]
    given = [
        jnp.zeros(aval.shape, aval.dtype) if _jax.is_zero(cotangent) else cotangent
        for cotangent, aval, is_smooth in zip(cotangents, program.out_avals, smooth, strict=True)
        if is_smooth
    ]

    def pullback(*each: Any) -> list[Any]:
        primals, given = each[: len(moving)], each[len(moving) :]
        moved = [primal for primal, moves in zip(primals, moving, strict=True) if moves]

        def smoothly(*moved: Any) -> list[Any]:
            those = iter(moved)
            all_ = [next(those) if m else p for p, m in zip(primals, moving, strict=True)]
            outputs = program.original(*all_)
            return [out for out, is_smooth in zip(outputs, smooth, strict=True) if is_smooth]

        return list(jax.vjp(smoothly, *moved)[1](list(given)))

    avals = [_jax.aval_of(each) for each in (*primals, *given)]
    other = program.other(("pull", moving, tuple(avals)), pullback, avals)
    return [None] * len(moving) + call(other, [*primals, *given])


def _is_smooth(aval: Any) -> bool:
    return bool(jnp.issubdtype(aval.dtype, jnp.inexact))


_call = _jax.new_primitive("conducted", _evaluate, _avals, _jvp, _batch)
_push = _jax.new_primitive(
    "conducted_tangents", _pushed, _pushed_avals, _push_jvp, _push_batch, _pull
)
