"""What becomes of something that a time-invariant loop carries, after each number of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from orchestrator_core.conductor.recurrence.einsum import Leaves, Operand, multiplied
from orchestrator_core.conductor.recurrence.factors import Factor
from orchestrator_core.conductor.recurrence.readings import State

STEP = 0
"""The label of the number of steps."""

NEW = 1
"""A label of an axis that is summed over."""


class Series:
    """``A^0 b, A^1 b, ..., A^T b`` of one state, by doubling: ``log2 T`` products.

    Args:
        leaves: the factors of the loop. length: T.
    """

    def __init__(self, state: State, leaves: Leaves, length: int) -> None:
        self._state, self._leaves, self._length = state, leaves, length
        pairs = zip(state.labels, state.given, strict=True)
        self._moves = [(out, into) for out, into in pairs if out != into]
        self._sizes = dict(zip(state.labels, state.before.shape, strict=True))
        self._powers = None if self._moves else self._of_scales()

    def read_by(self, reads: list[Operand]) -> list[Operand]:
        """``C A^0, ..., C A^T`` of a product C that reads the state, as factors of a product."""
        if self._powers is not None:
            return [*reads, self._powers]
        ((out, into),) = self._moves
        return [self._doubled(reads, into, out)]

    def of(self, factors: Sequence[Factor]) -> list[Operand]:
        """Of a product of factors that are the same in each step, as factors of a product."""
        return self.of_operands([self._leaves.operand(each, (), ()) for each in factors])

    def of_operands(self, operands: list[Operand]) -> list[Operand]:
        """The same of arrays."""
        if self._powers is not None:
            return [*operands, self._powers]
        ((out, into),) = self._moves
        return [self._doubled(operands, out, into)]

    def _of_scales(self) -> Operand:
        along = self._state.decaying
        shape = tuple(self._sizes[label] for label in along)
        scale = self._product(self._state.decay, along, shape)
        powers = jnp.ones((1, *shape), scale.dtype)
        while len(powers) <= self._length:
            powers = jnp.concatenate([powers, powers * scale])
            scale = scale * scale
        return powers[: self._length + 1], (STEP, *along)

    def _doubled(self, operands: list[Operand], out: int, into: int) -> Operand:
        """Twice as many at each turn, by a matrix that is squared.

        Args:
            out, into: the labels of what a product with the matrix makes, and of what it takes.
        """
        ((row, column),) = self._moves
        sizes = {k: n for a, mine in operands for k, n in zip(mine, a.shape, strict=True)}
        held = {k for factor in self._state.decay for k in factor.labels}
        many = tuple(k for k in self._state.labels if k in held and k != row)
        sizes |= {k: self._sizes[k] for k in (row, *many)}
        square = (sizes[row], sizes[row], *(sizes[k] for k in many))
        matrix = self._product(self._state.decay, (row, column, *many), square)
        labels = [row, *(k for k in sizes if k != row)]
        shape = [sizes[k] for k in labels]
        made = multiplied(operands, labels, shape)[None]
        while len(made) <= self._length:
            given = (made, (STEP, *(into if k == row else k for k in labels)))
            kept = [out if k == row else k for k in labels]
            pair = [(matrix, (row, column, *many)), given]
            more = multiplied(pair, (STEP, *kept), (len(made), *shape))
            made = jnp.concatenate([made, more])
            pair = [(matrix, (row, NEW, *many)), (matrix, (NEW, column, *many))]
            matrix = multiplied(pair, (row, column, *many), square)
        return made[: self._length + 1], (STEP, *labels)

    def _product(
        self, factors: Sequence[Factor], labels: tuple[int, ...], shape: tuple[int, ...]
    ) -> Any:
        dtype, sign = self._state.before.dtype, self._state.sign
        operands = [self._leaves.operand(each, (), ()) for each in factors]
        if not operands:
            return jnp.full(shape, sign, dtype)
        return (sign * multiplied(operands, labels, shape)).astype(dtype)
