"""Passes over tiles that become kernels."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.axes import full_shape
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.kernels.name import NAME
from orchestrator_core.conductor.kernels.program import PassProgram, Programs
from orchestrator_core.conductor.kernels.trial import trial
from orchestrator_core.conductor.tile.emission import Emission
from orchestrator_core.conductor.tile.form import Form
from orchestrator_core.conductor.tile.price import PassPrice, Prices
from orchestrator_core.conductor.tile.run import Runner


@dataclass(frozen=True)
class KernelPrice(PassPrice):
    """Attributes:
    program: what has that price.
    """

    program: PassProgram


class KernelPrices(Prices):
    """Of passes as kernels on this device."""

    def __init__(self) -> None:
        super().__init__()
        self._programs = Programs()

    def of(self, runner: Runner) -> KernelPrice:
        return price_of(self._programs.of(runner), runner)


def price_of(program: PassProgram, runner: Runner) -> KernelPrice:
    tiles = sum(kernel.rows * kernel.columns for kernel in program.kernels)
    return KernelPrice(program.seconds, program.work, tiles, 0, program)


def kernel_node(runner: Runner, price: PassPrice) -> Node:
    """In the place of the node of a pass."""
    if not isinstance(price, KernelPrice):
        raise TypeError("the price of a pass that is no kernel")
    outputs = tuple(
        Value(_jax.ShapedArray(full_shape(a.spec), a.dtype)) for a in runner.one.accumulators
    )
    params = {"program": price.program, "work": price.work, "seconds": price.seconds}
    return Node("kernel_pass", runner.one.recipe.values, outputs, price.program, params)


def _words(form: Form) -> str:
    found = [each.program.words for each in form.prices.values() if isinstance(each, KernelPrice)]
    return "; ".join(found)


KERNELS = Emission(NAME, KernelPrices, kernel_node, _words, trial)
