"""The forms in which a loop can run, each proven for it, and the one that is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from orchestrator_core.conductor.cost import price, this_device
from orchestrator_core.conductor.facts.recurrent import systems_of
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.kernels.claims import is_claimed
from orchestrator_core.conductor.recurrence.blocks import in_blocks, is_for_blocks
from orchestrator_core.conductor.recurrence.fission import fission, left
from orchestrator_core.conductor.recurrence.parallel import in_parallel, is_parallel
from orchestrator_core.conductor.site import Price

LONG = 64
"""Steps from which on it is asked whether they need to come one after another."""

GAIN = 0.8
"""Another form than a plain loop must take less than this part of its time, by prediction."""


@dataclass(frozen=True)
class Form:
    """Attributes:
    name: as a pinned plan remembers it. chosen: and in words for people; empty of a loop as it is.
    graph: of the loop alone. priced: the same as it mostly runs, which is what its price is of.
    reason: why it is chosen if it is.
    """

    name: str
    chosen: str
    graph: Graph
    priced: Graph
    reason: str

    @cached_property
    def price(self) -> Price:
        return price(self.priced)


def alone(node: Node) -> Graph:
    """A graph of nothing but this node."""
    inputs = dict.fromkeys(each for each in node.inputs if isinstance(each, Value))
    return Graph(tuple(inputs), tuple(node.outputs), (node,), {})


def chosen(node: Node, goal: Goal, wanted: str | None) -> Form:
    """The form that a pinned plan wants, if it is right; else the one with the least price."""
    plain = _plain(node, goal)
    if wanted == plain.name or goal.is_strict or goal.objective == "memory":
        return plain
    loop = left(plain.graph, node)
    if loop is not None and is_claimed(loop, goal):
        return plain
    others = list(_others(plain, node))
    pinned = [form for form in others if form.name == wanted]
    if pinned or wanted is not None or goal.always:
        return next(iter(pinned), plain)
    best = min(others, key=lambda form: form.price.seconds, default=plain)
    return best if best.price.seconds < GAIN * plain.price.seconds else plain


def _plain(node: Node, goal: Goal) -> Form:
    """One step after another; what need not be in it is done for all steps at once."""
    after, done = fission(alone(node), node, this_device(), goal)
    said = ", ".join(["a plain loop", *done]) if done else ""
    return Form("plain", said, after, after, "in each step alone that is dear")


def _others(plain: Form, node: Node) -> Iterator[Form]:
    """Forms for devices that a step of this loop leaves idle. A CPU's cores do a step in less than
    a microsecond, and most of what other forms save there is lost to what they move."""
    loop = left(plain.graph, node)
    if loop is None or Scan.of(loop).length < LONG:
        return
    scan = Scan.of(loop)
    if this_device().busy(_elements(scan)) == 1:
        return
    systems, said = systems_of(scan), plain.chosen.removeprefix("a plain loop")
    why = "one step after another leaves the device idle"
    if is_for_blocks(scan, systems):
        done, priced = (in_blocks(plain.graph, loop, systems, is_guarded=g) for g in (True, False))
        yield Form("blocks", f"all blocks of steps at once{said}", done, priced, why)
    if is_parallel(scan, systems):
        done, priced = (
            in_parallel(plain.graph, loop, systems, is_guarded=g) for g in (True, False)
        )
        yield Form("parallel", f"parallel scans{said}", done, priced, why)


def _elements(scan: Scan) -> int:
    """That a step makes in one kernel, at most."""
    return max(output.size for node in scan.body.nodes for output in node.outputs)
