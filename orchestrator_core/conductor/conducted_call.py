"""A conducted program as one operation of JAX, with its derivatives and batches.

Derivatives are those of the original function, custom rules included: nothing that a rewrite has
put in its place is ever differentiated. Where JAX linearizes in order to transpose, the function
and its pullback are planned as one graph that is cut in two (`joint`): one part runs now and hands
residuals on to the other. Pushforwards are JAX's own. What JAX knows to be zero stays its sign
for that: zeros that are computed would be NaN times an infinite derivative.
So ``grad``, ``vmap`` and ``jit`` may stand inside and outside of ``conduct``, in any order.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.joint.joint import Joint, forward_of, joint_of, pullback_of
from orchestrator_core.conductor.joint.part import Part
from orchestrator_core.conductor.joint.pushforward import Pushforward
from orchestrator_core.conductor.joint.split import Flags, reached
from orchestrator_core.conductor.program import Program


def call(program: Program, arrays: Sequence[Any]) -> list[Any]:
    """What the program makes of arrays, or of whatever JAX traces outside. One with side effects,
    as a pullback may have that its user has written, or that JAX must see (`why_placed`), runs as
    it was."""
    if program.jaxpr.effects or program.why_placed:
        return program.original(*arrays)
    _jax.tell_interpreters()
    return list(_call.bind(*arrays, program=program))


# The function.


def _evaluate(*arrays: Any, program: Program) -> list[Any]:
    return program.run(*arrays)


def _original(*arrays: Any, program: Program) -> list[Any]:
    return program.original(*arrays)


def _lowered(platform: str, program: Program) -> bytes | None:
    return program.lowered(platform)


def _avals(*_: Any, program: Program) -> list[Any]:
    return program.out_avals


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], program: Program) -> Any:
    outputs = call(program, primals)
    moving = _moving(tangents, program.avals)
    moved = _outputs_moved(program, moving)
    return outputs, _moved(program, moving, moved, None, primals, tangents)


def _linearize(is_vjp: bool, moving: Flags, primals: Sequence[Any], program: Program) -> Any:
    moves = zip(moving, program.avals, strict=True)
    moving = tuple(each and _jax.is_smooth(aval) for each, aval in moves)
    joint = joint_of(program, moving) if is_vjp else None
    if joint is None:
        whole = forward_of(program, moving) if is_vjp and any(moving) else program
        outputs, residuals = call(whole, primals), list(primals)
    else:
        made = _part.bind(*primals, part=joint.forward)
        outputs = made[: len(program.out_avals)]
        residuals = [*primals, *made[len(program.out_avals) :]]

    # What is only transposed need not have a pushforward; a `custom_vjp` has none.
    moved = _outputs_moved(program, moving) if not is_vjp else _smooth(program, moving)

    def linear(residuals: Sequence[Any], *tangents: Any) -> list[Any]:
        return _moved(program, moving, moved, joint, residuals, tangents)

    return outputs, moved, residuals, linear


def _batch(arrays: Sequence[Any], axes: Sequence[Any], program: Program) -> Any:
    avals = [_jax.aval_of(array) for array in arrays]
    return call(program.batched(tuple(axes), avals), arrays), [0] * len(program.out_avals)


def _transpose(cotangents: Sequence[Any], *arrays: Any, program: Program) -> list[Any]:
    """Of a function that is linear in inputs that are not known: JAX's, of the original."""
    unknown = [_jax.is_unknown(each) for each in arrays]
    moving = [each.aval for each, is_one in zip(arrays, unknown, strict=True) if is_one]
    given = [each for each in cotangents if not _jax.is_zero(each)]

    def linear(*those: Any) -> list[Any]:
        each = iter(those)
        pairs = zip(arrays, unknown, strict=True)
        outputs = program.original(*(next(each) if is_one else known for known, is_one in pairs))
        return [
            output
            for output, cotangent in zip(outputs, cotangents, strict=True)
            if not _jax.is_zero(cotangent)
        ]

    made = iter(jax.linear_transpose(linear, *moving)(given))
    return [next(made) if is_one else None for is_one in unknown]


# Its pushforward, which is linear, and is transposed into its pullback. Inputs: those of the
# function, the residuals if it has been cut, and the tangents of the inputs that move.


def _moving(tangents: Sequence[Any], avals: Sequence[Any]) -> Flags:
    """Which inputs move."""
    pairs = zip(tangents, avals, strict=True)
    return tuple(not _jax.is_zero(tangent) and _jax.is_smooth(aval) for tangent, aval in pairs)


def _moved(
    program: Program,
    moving: Flags,
    moved: Flags,
    joint: Joint | None,
    known: Sequence[Any],
    tangents: Sequence[Any],
) -> list[Any]:
    """The tangents of all outputs, with JAX's sign for those that do not move."""
    zeros = [_jax.zero_of(aval.to_tangent_aval()) for aval in program.out_avals]
    if not any(moving):
        return zeros
    given = [tangent for tangent, moves in zip(tangents, moving, strict=True) if moves]
    made = _push.bind(*known, *given, program=program, moving=moving, joint=joint)
    return [one if moves else zero for one, zero, moves in zip(made, zeros, moved, strict=True)]


def _smooth(program: Program, moving: Flags) -> Flags:
    """Which outputs may move."""
    return tuple(is_smooth and any(moving) for is_smooth in program.smooth)


def _outputs_moved(program: Program, moving: Flags) -> Flags:
    """Which outputs move."""
    if not any(moving):
        return _smooth(program, moving)
    pairs = zip(program.smooth, _pushforward(program, moving).moved, strict=True)
    return tuple(is_smooth and moves for is_smooth, moves in pairs)


def _pushforward(program: Program, moving: Flags) -> Pushforward:
    made: Pushforward = program.kept(
        ("push", moving), lambda: Pushforward.of(program.original, program.avals, moving)
    )
    return made


def _pushed(*arrays: Any, program: Program, moving: Flags, joint: Joint | None) -> list[Any]:
    """The tangents of all outputs; those of integers are zeros of their own type."""
    given = arrays[len(arrays) - sum(moving) :]
    return _pushforward(program, moving)(*arrays[: len(moving)], *given)


def _pushed_avals(*_: Any, program: Program, **__: Any) -> list[Any]:
    return [
        aval.to_tangent_aval() if is_smooth else _jax.ShapedArray(aval.shape, bool)
        for aval, is_smooth in zip(program.out_avals, program.smooth, strict=True)
    ]


def _push_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    """Derivatives of derivatives are JAX's own."""
    avals = [_jax.aval_of(primal) for primal in primals]
    moving = _moving(tangents, avals)
    outputs = _push.bind(*primals, **params)
    zeros = [_jax.zero_of(aval.to_tangent_aval()) for aval in _pushed_avals(**params)]
    if not any(moving):
        return outputs, zeros
    push: Pushforward = params["program"].kept(
        ("push again", params["moving"], moving),
        lambda: Pushforward.of(functools.partial(_pushed, **params), avals, moving),
    )
    given = [tangent for tangent, moves in zip(tangents, moving, strict=True) if moves]
    made = zip(push(*primals, *given), zeros, push.moved, strict=True)
    return outputs, [one if moves else zero for one, zero, moves in made]


def _push_batch(arrays: Sequence[Any], axes: Sequence[Any], **params: Any) -> Any:
    outputs = jax.vmap(lambda *each: _pushed(*each, **params), tuple(axes))(*arrays)
    return outputs, [0] * len(outputs)


def _pull(
    cotangents: Sequence[Any], *arrays: Any, program: Program, moving: Flags, joint: Joint | None
) -> list[Any]:
    """The cotangents of the inputs that move."""
    known = list(arrays[: len(arrays) - sum(moving)])
    pairs = zip(cotangents, program.smooth, strict=True)
    smooth = [cotangent for cotangent, is_smooth in pairs if is_smooth]
    given = tuple(not _jax.is_zero(cotangent) for cotangent in smooth)
    there = [cotangent for cotangent, is_one in zip(smooth, given, strict=True) if is_one]
    if joint is None:
        pullback = pullback_of(program, moving, given)
        made = call(pullback, [*known, *there])
        of_these = [*(False for _ in known), *(True for _ in there)]
        moves = reached(read(pullback.jaxpr), of_these)
    else:
        made = _part.bind(*known, *there, part=joint.backward(given))
        moves = joint.reached(given)
    moved = zip(made, moves, strict=True)
    zeros = [one if is_one else _jax.zero_of(_jax.aval_of(one)) for one, is_one in moved]
    return [None] * len(known) + zeros


# The two parts of a function and its pullback that were planned together.


def _run_part(*arrays: Any, part: Part) -> list[Any]:
    return part.run(*arrays)


def _part_original(*arrays: Any, part: Part) -> list[Any]:
    """Of a function its outputs as they were, and residuals for whoever needs them; of a pullback,
    which needs none then, all."""
    made = part.program().original(*part.of_program(arrays))
    return made if len(made) == len(part.out_avals) else [*made, *part.run(*arrays)[part.outputs :]]


def _part_avals(*_: Any, part: Part) -> list[Any]:
    return part.out_avals


def _part_jvp(primals: Sequence[Any], tangents: Sequence[Any], part: Part) -> Any:
    made = _part.bind(*primals, part=part)
    seen = part.of_program(tangents)
    program = part.program()
    moving = _moving(seen, program.avals)
    moved = _outputs_moved(program, moving)
    pushed = _moved(program, moving, moved, None, part.of_program(primals), seen)
    zeros = [_jax.zero_of(aval.to_tangent_aval()) for aval in part.out_avals[part.outputs :]]
    return made, [*pushed, *zeros]


def _part_transpose(cotangents: Sequence[Any], *arrays: Any, part: Part) -> list[Any]:
    """Of a pullback, which is linear in its cotangents."""
    seen = part.of_program(arrays)
    made = iter(_transpose(cotangents[: part.outputs], *seen, program=part.program()))
    return [next(made) if is_seen else None for is_seen in part.seen]


def _part_batch(arrays: Sequence[Any], axes: Sequence[Any], part: Part) -> Any:
    batched, out = part.batched(tuple(axes), [_jax.aval_of(array) for array in arrays])
    return _part.bind(*arrays, part=batched), out


_call = _jax.new_primitive(
    "conducted", _evaluate, _avals, _jvp, _batch, _transpose, _linearize, _lowered, _original
)
_push = _jax.new_primitive(
    "conducted_tangents", _pushed, _pushed_avals, _push_jvp, _push_batch, _pull
)
_part = _jax.new_primitive(
    "conducted_part",
    _run_part,
    _part_avals,
    _part_jvp,
    _part_batch,
    _part_transpose,
    original=_part_original,
)
