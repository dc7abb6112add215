"""A pass as kernels, one for each of its sides."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.cost import Work, this_device
from orchestrator_core.conductor.facts.axes import ROLES, Role
from orchestrator_core.conductor.ir.value import Atom
from orchestrator_core.conductor.kernels.held import power_of_two
from orchestrator_core.conductor.kernels.hopper.kernel import HopperKernel
from orchestrator_core.conductor.kernels.lowering import is_hopper, raced, refusal
from orchestrator_core.conductor.kernels.pallas import Launch
from orchestrator_core.conductor.kernels.pass_kernel import PassKernel
from orchestrator_core.conductor.kernels.price import seconds_of_kernel, work_of_kernel
from orchestrator_core.conductor.kernels.settings import are_interpreted
from orchestrator_core.conductor.kernels.sides import sides_of
from orchestrator_core.conductor.measured.timing import Candidate, has_gpu
from orchestrator_core.conductor.refused import Refused
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.run import Runner

Kernel = PassKernel | HopperKernel

SHAPES = (
    (128, 128, Launch(8, 3)),
    (128, 64, Launch(8, 3)),
    (128, 64, Launch(4, 3)),
    (128, 128, Launch(8, 2)),
    (64, 64, Launch(4, 2)),
    (64, 32, Launch(4, 2)),
    (32, 32, Launch(4, 1)),
    (16, 16, Launch(4, 1)),
)
"""Elements of a tile along the outer and the inner role, and how it is launched; the best first."""

HOPPER = len(SHAPES)
"""The number of the kernel that only Hopper has."""

MEASURED = 3
"""Kernels of other shapes that are timed where there is a GPU; which is fastest nobody can say."""

MOST_REGISTERS = 200
"""Of a thread, of 255, for what a program accumulates and the products of its tiles. With more than
that compilers take long, and what they make is slow."""

LEAST = 16
"""Elements of a tile along a role, for tensor cores."""


@dataclass(frozen=True)
class PassProgram:
    """Called with the values of the pass's recipe it returns what the pass accumulates.

    Attributes:
        runner: the same in tiles without kernels, for other devices than the one it is made for.
        least: seconds that its kernels take, as far as they were timed.
    """

    runner: Runner
    kernels: tuple[Kernel, ...]
    least: float = 0.0

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        if self.is_interpreted:
            return self.by_kernels(*arrays)
        made: Any = lax.platform_dependent(*arrays, cuda=self.by_kernels, default=self.by_tiles)
        return list(made)

    @property
    def is_interpreted(self) -> bool:
        return any(kernel.is_interpreted for kernel in self.kernels)

    def by_kernels(self, *arrays: Any) -> list[Any]:
        values = dict(zip(self.runner.one.recipe.values, arrays, strict=True))
        made: dict[Any, Any] = {}
        for kernel in self.kernels:
            made.update(zip(kernel.side.accumulators, kernel(values), strict=True))
        return [made[each] for each in self.runner.one.accumulators]

    def by_tiles(self, *arrays: Any) -> list[Any]:
        return list(self.runner(arrays))

    @property
    def work(self) -> Work:
        return sum((work_of_kernel(kernel.usual) for kernel in self.kernels), Work())

    @property
    def seconds(self) -> float:
        device, usual = this_device(), [kernel.usual for kernel in self.kernels]
        return sum(seconds_of_kernel(each, work_of_kernel(each), device) for each in usual)

    @property
    def words(self) -> str:
        """Such as: 2 kernels of 128 x 64 tiles."""
        sizes = list(dict.fromkeys(f"{k.size['i']} x {k.size['j']}" for k in self.kernels))
        count = len(self.kernels)
        return f"{count} kernel{'s' if count > 1 else ''} of {' and '.join(sizes)} tiles"


class Programs:
    """Of passes. Passes that look the same have tiles of the same shapes, so of many layers only
    one is tried."""

    def __init__(self) -> None:
        self._shapes: dict[object, tuple[int, ...] | str] = {}

    def of(self, runner: Runner) -> PassProgram:
        """Raises:
        Refused: if there is none.
        """
        key = runner.looks
        known = self._shapes.get(key)
        if isinstance(known, str):
            raise Refused(known)
        try:
            sides = sides_of(runner.one)
            found = [
                _first(side) if known is None else (known[k], _kernel(side, known[k]), 0.0)
                for k, side in enumerate(sides)
            ]
        except Refused as why:
            self._shapes[key] = str(why)
            raise
        self._shapes[key] = tuple(number for number, _, _ in found)
        kernels, least = tuple(kernel for _, kernel, _ in found), sum(s for _, _, s in found)
        return PassProgram(runner, kernels, least)


Timed = tuple[int, Kernel, float]
"""A kernel, the number of its shape, and seconds; zero if it was not timed."""


def _first(side: Pass) -> Timed:
    """The best kernel that can be compiled: where there is a GPU, the fastest of some."""
    numbers, why = _fitting(side), ""
    most = MEASURED if has_gpu() and not are_interpreted() else 1
    while some := tuple(itertools.islice(numbers, most)):
        found, why = _fastest(side, some)
        if found is not None:
            return found
    raise Refused(why)


def _fastest(side: Pass, numbers: Sequence[int]) -> tuple[Timed | None, str]:
    """The fastest of some kernels; if none can be compiled, why."""
    kernels, taken, why = dict[int, Kernel](), dict[int, float](), ""
    for number in numbers:
        kernel, why = _possible(side, number)
        if kernel is not None:
            kernels[number] = kernel
    for number, (refused, seconds) in zip(kernels, _raced(list(kernels.values())), strict=True):
        if refused:
            why = refused
        else:
            taken[number] = seconds
    if not taken:
        return None, why
    best = min(taken, key=taken.__getitem__)
    return (best, kernels[best], taken[best]), ""


def _possible(side: Pass, number: int) -> tuple[Kernel | None, str]:
    """A kernel that may be compiled, or why there is none."""
    try:
        kernel = _kernel(side, number)
    except Refused as refused:
        if number != HOPPER:
            raise
        return None, str(refused)
    if isinstance(kernel, PassKernel) and number < len(SHAPES) - 1 and _is_too_large(kernel):
        return None, "its tiles do not fit into registers"
    return kernel, ""


def _raced(kernels: Sequence[Kernel]) -> list[tuple[str, float]]:
    """Of each why it cannot be compiled, empty if it can, and seconds if there are others."""
    if any(kernel.is_interpreted for kernel in kernels):
        return [(refusal_of(kernel), 0.0) for kernel in kernels]
    return raced([_alone(kernel) for kernel in kernels]) if kernels else []


def _is_too_large(kernel: PassKernel) -> bool:
    """Are there more numbers than registers?"""
    matrices = [each for each in kernel.cell.graph.outputs if _is_matrix(each)]
    products = [node for node in kernel.cell.graph.nodes if node.name == "dot_general"]
    pairs = max(0, len(products) - len(matrices)) * math.prod(kernel.size.values())
    threads = 32 * kernel.launch.warps
    return sum(each.size for each in matrices) + pairs > MOST_REGISTERS * threads


def _is_matrix(atom: Atom) -> bool:
    return sum(size > 1 for size in atom.shape) > 1


def _fitting(side: Pass) -> Iterator[int]:
    """Shapes whose tiles are not much larger than what there is."""
    if is_hopper() and not are_interpreted():
        yield HOPPER
    for number, (outer, inner, _) in enumerate(SHAPES):
        longest = [power_of_two(side.length[role]) for role in (side.outer, side.inner)]
        is_last = number == len(SHAPES) - 1
        if is_last or (outer <= max(LEAST, longest[0]) and inner <= max(LEAST, longest[1])):
            yield number


def _kernel(side: Pass, number: int) -> Kernel:
    if number == HOPPER:
        usual = _kernel(side, 0)
        assert isinstance(usual, PassKernel)
        return HopperKernel.of(usual)
    outer, inner, launch = SHAPES[number]
    size: dict[Role, int] = {side.outer: outer, side.inner: inner}
    size = {role: size[role] for role in ROLES}
    return PassKernel.of(side, size, launch, is_interpreted=are_interpreted())


def refusal_of(kernel: Kernel) -> str:
    """Why it cannot be compiled; empty if it can."""
    return refusal(*_alone(kernel), is_interpreted=kernel.is_interpreted)


def _alone(kernel: Kernel) -> Candidate:
    """A function of arrays that is nothing but the kernel, and their types."""
    values = kernel.side.recipe.values

    def function(*arrays: Any) -> list[Any]:
        return kernel(dict(zip(values, arrays, strict=True)))

    return function, [_jax.ShapedArray(value.shape, value.dtype) for value in values]
