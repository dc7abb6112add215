"""Products of matrices, batched and with any axes contracted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from orchestrator_core.conductor.facts.axes import Axis, Spec, roles, untiled
from orchestrator_core.conductor.facts.transfer.rule import RULES, Onward, Rule
from orchestrator_core.conductor.ir.node import Node

T = TypeVar("T")


@dataclass(frozen=True)
class Sides:
    """The axes of both operands of a product, left first.

    Attributes:
        contracted, batch, free: for each operand the axes; those contracted and those of the batch
            are paired. The result has batch, left free, right free axes, in this order.
    """

    contracted: tuple[tuple[int, ...], tuple[int, ...]]
    batch: tuple[tuple[int, ...], tuple[int, ...]]
    free: tuple[tuple[int, ...], tuple[int, ...]]

    @classmethod
    def of(cls, node: Node) -> Sides:
        (lc, rc), (lb, rb) = node.params["dimension_numbers"]
        taken = ({*lc, *lb}, {*rc, *rb})
        free = [
            tuple(k for k in range(len(node.inputs[side].shape)) if k not in taken[side])
            for side in (0, 1)
        ]
        return cls((tuple(lc), tuple(rc)), (tuple(lb), tuple(rb)), (free[0], free[1]))

    def paired(self) -> list[tuple[int, int]]:
        """Axes of the left and of the right that run together."""
        batch = zip(*self.batch, strict=True)
        return [*batch, *zip(*self.contracted, strict=True)]

    def out(self, left: Sequence[T], right: Sequence[T]) -> tuple[T, ...]:
        """What belongs to the result's axes, from what belongs to those of the operands."""
        first = [left[k] for k in (*self.batch[0], *self.free[0])]
        return (*first, *(right[k] for k in self.free[1]))

    def back(self, out: Iterable[T], contracted: Sequence[Sequence[T]]) -> list[list[T]]:
        """What belongs to the operands' axes, from what belongs to the result's.

        Args:
            contracted: for each operand, what belongs to its axes that the result does not have;
                others are not looked at.
        """
        made, left = [list(each) for each in contracted], iter(out)
        for p, q in zip(*self.batch, strict=True):
            made[0][p] = made[1][q] = next(left)
        for side in (0, 1):
            for k in self.free[side]:
                made[side][k] = next(left)
        return made


def _back(node: Node, spec: Spec) -> list[Spec]:
    contracted = [untiled(each.shape) for each in node.inputs]
    return [tuple(each) for each in Sides.of(node).back(spec, contracted)]


def _forward(node: Node, place: int, spec: Spec) -> Onward:
    sides = Sides.of(node)
    made: list[list[Axis]] = [list(untiled(each.shape)) for each in node.inputs]
    made[place] = list(spec)
    for pair in sides.paired():
        made[1 - place][pair[1 - place]] = spec[pair[place]]
    left, right = tuple(made[0]), tuple(made[1])
    out = sides.out(left, right)
    return Onward(out, (left, right), roles(spec) - roles(out))


RULES["dot_general"] = Rule(_back, _forward, sums=True)
