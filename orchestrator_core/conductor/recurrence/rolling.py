"""When unrolled loops are rolled up: if what they hand on is an affine recurrence.

For time only where it can take another form then, such as products by chunks. A plain loop was
never faster than its turns in a row, of which XLA fuses the beginnings and ends and sums up what
they add to: gradients of 24 steps of 512 units took up to 37 times as long in a loop (EPYC, 2026).
"""

from __future__ import annotations

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.facts.affine import Kind
from orchestrator_core.conductor.facts.recurrent import in_words, systems_of
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.recurrence.forms import chosen
from orchestrator_core.conductor.recurrence.name import NAME
from orchestrator_core.conductor.recurrence.periods import turns
from orchestrator_core.conductor.recurrence.prices import alone
from orchestrator_core.conductor.recurrence.reroll import Rolled, rolled_up
from orchestrator_core.conductor.site import AS_IT_IS, Site

ROUNDS = 4
"""Unrolled loops that are rolled up in one graph."""

SHARE = 0.03
"""Part of a step that may be lost to its beginning."""

SMALL = 1 << 16
"""Bytes in one turn of what would have to be put together first."""


def roll_up(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """All unrolled loops of a graph."""
    sites: list[Site] = []
    for _ in range(ROUNDS):
        after, site = _one(graph, goal)
        sites += [] if site is None else [site]
        if after is graph:
            break
        graph = after
    return graph, sites


def _one(graph: Graph, goal: Goal) -> tuple[Graph, Site | None]:
    rolled = _best(graph)
    if rolled is None:
        return graph, None
    count = rolled.turns.count
    source = rolled.turns.blocks[0][0].source
    unrolled = f"a loop that Python has unrolled {count} times"
    try:
        after = rolled_up(graph, rolled)
        old = set(graph.nodes)
        loop = next(n for n in after.nodes if n.name == "scan" and n not in old)
        systems = systems_of(Scan.of(loop))
        against = _against(loop, goal)
    except Exception as error:
        return graph, Site.failed(NAME, source, unrolled, error)
    if all(system.kind is Kind.FREE for system in systems):
        return graph, None
    found = f"{unrolled}, {in_words(systems)}"
    if any(system.kind is Kind.NONE for system in systems):
        return graph, Site(NAME, source, found, AS_IT_IS, "only recurrences are rolled up")
    if against:
        return graph, Site(NAME, source, found, AS_IT_IS, against)
    why = "it is compiled once, and can take other forms"
    return after, Site(NAME, source, found, "a plain loop", why)


def _against(loop: Node, goal: Goal) -> str:
    """Why the turns stay as they are; empty if they do not."""
    if goal.objective != "time" or goal.always:
        return ""
    if _is_small(loop):
        return "a step of a loop would take longer than what is done in it"
    if not chosen(loop, goal, None).chosen:
        return "a plain loop would be its cheapest form, and no faster than its turns in a row"
    return ""


def _is_small(loop: Node) -> bool:
    """Is so little done in a step that to begin it is more than a small part of it?"""
    device = this_device()
    done = sum(alone(node, device) for node in Scan.of(loop).body.nodes)
    return device.step_s + device.kernel_s > SHARE * done


def _best(graph: Graph) -> Rolled | None:
    """The way of cutting into turns that hands on the least."""
    found = [rolled for each in turns(graph) if (rolled := Rolled.of(each)) is not None]
    cheap = [each for each in found if _put_together(each) <= SMALL]
    return min(cheap, key=lambda each: (-each.turns.count, len(each.carries)), default=None)


def _put_together(rolled: Rolled) -> int:
    return sum(value.nbytes for value, _ in rolled.slices)
