"""A program's outputs and the cotangents of its inputs, by JAX's derivatives of the original."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from orchestrator_core.conductor.program import Program


def with_pullback(
    program: Program, moving: Sequence[bool], given: Sequence[bool], *arrays: Any
) -> tuple[list[Any], list[Any]]:
    """Outputs, and the cotangents of the inputs that move.

    Args:
        moving: which inputs are differentiated.
        given: which of the smooth outputs have a cotangent; that of the others is zero.
        arrays: all inputs, then the cotangents that are given.
    """
    primals, cotangents = arrays[: len(moving)], list(arrays[len(moving) :])
    those = iter(given)
    pulled = [next(those) if is_smooth else False for is_smooth in program.smooth]

    def apart(*moved: Any) -> tuple[list[Any], list[Any]]:
        each = iter(moved)
        all_ = [next(each) if m else p for p, m in zip(primals, moving, strict=True)]
        outputs = program.original(*all_)
        return _those(outputs, pulled), _those(outputs, [not is_one for is_one in pulled])

    moved = _those(primals, moving)
    first, pull, second = jax.vjp(apart, *moved, has_aux=True)
    outputs = [(first if is_one else second).pop(0) for is_one in pulled]
    return outputs, list(pull(cotangents))


def _those(values: Sequence[Any], which: Sequence[bool]) -> list[Any]:
    return [each for each, is_one in zip(values, which, strict=True) if is_one]
