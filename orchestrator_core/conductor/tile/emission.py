"""What the passes of a form become: loops over tiles, or whatever another rewrite makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.axes import full_shape
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.measured.trial import trial
from orchestrator_core.conductor.tile.careful import careful
from orchestrator_core.conductor.tile.form import Form
from orchestrator_core.conductor.tile.price import PassPrice, Prices
from orchestrator_core.conductor.tile.run import Runner

NAME = "tiling"


@dataclass(frozen=True)
class Emission:
    """What passes become.

    Attributes:
        name: of the rewrite. prices: a new list of what passes cost. node: of a pass and its price.
        words: what a form is.
        trial: seconds of what differs between two graphs, timed; None where nothing can be.
    """

    name: str
    prices: Callable[[], Prices]
    node: Callable[[Runner, PassPrice], Node]
    words: Callable[[Form], str]
    trial: Callable[[Graph, Graph], tuple[float, float] | None]


def _node(runner: Runner, price: PassPrice) -> Node:
    outputs = tuple(
        Value(_jax.ShapedArray(full_shape(a.spec), a.dtype)) for a in runner.accumulators
    )
    params = {"runner": runner, "work": price.work, "seconds": price.seconds}
    return Node("tiled_pass", runner.one.recipe.values, outputs, careful(runner), params)


def _words(form: Form) -> str:
    """Such as: 2 passes of 512 x 512 tiles, 28 of 64 tiles may be skipped."""
    count, size = len(form.passes), form.size
    tiles = sum(price.tiles for price in form.prices.values())
    skipped = sum(price.skipped for price in form.prices.values())
    said = f"{count} pass{'es' if count > 1 else ''} of {size['i']} x {size['j']} tiles"
    said += f", {skipped} of {tiles} tiles may be skipped" if skipped else ""
    return said + "".join(f", running sums in blocks of {each}" for each in sorted(form.blocks))


LOOPS = Emission(NAME, Prices, _node, _words, trial)
"""Loops over tiles, as XLA runs them."""
