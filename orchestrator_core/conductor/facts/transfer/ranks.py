"""The k largest numbers along an axis, and where they are: those of the tiles' largest."""

from __future__ import annotations

from orchestrator_core.conductor.facts.axes import Spec, Untileable, axis_roles, roles, untiled
from orchestrator_core.conductor.facts.transfer.rule import RULES, Onward, Rule
from orchestrator_core.conductor.ir.node import Node

K_LARGEST = "k_largest"
"""`top_k`, `argmax` or `argmin` where it may be done in tiles; see `tile.ranks`."""

LARGEST_NUMBERS = "largest_numbers"
"""What reads the numbers off it."""


def _forward(node: Node, place: int, spec: Spec) -> Onward:
    axis = node.params["axis"]
    if len(spec[axis]) != 1 or not axis_roles(spec[axis]):
        raise Untileable(f"{node.params['kind']} along an axis that is not one tiled part")
    batch = tuple(each for k, each in enumerate(spec) if k != axis)
    out = (*batch, *untiled(node.output.shape[-2:]))
    return Onward(out, (spec,), roles(spec) - roles(out))


RULES[K_LARGEST] = Rule(forward=_forward, sums=True)
