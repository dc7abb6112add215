"""Running sums and the like, and sorts: possible where the axis they run along is not tiled.

Along one that is, running sums are done in blocks; how, the rewrite says that makes them so.
"""

from __future__ import annotations

from orchestrator_core.conductor.facts.axes import Spec, Untileable, axis_roles
from orchestrator_core.conductor.facts.transfer.rule import RULES, Rule, through
from orchestrator_core.conductor.ir.node import Node

CUMULATIVE = ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")

FROM_BLOCKS = "running_from_blocks"
"""One of these of what stands before each block, and of what is in it."""


def _back(node: Node, spec: Spec) -> list[Spec]:
    if axis_roles(spec[node.params["axis"]]):
        raise Untileable(f"{node.name} along a tiled axis")
    return [spec]


_RULE = Rule(_back, through(_back, lambda node, place, spec: spec))
RULES.update(dict.fromkeys(CUMULATIVE, _RULE))
