"""Whether loops do themselves what was done before and after them."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator_core.conductor.cost import price, this_device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.ir.written import in_place_of
from orchestrator_core.conductor.recurrence.absorbing import Absorbing
from orchestrator_core.conductor.recurrence.fission import fission
from orchestrator_core.conductor.recurrence.gathered import Gathered, gathered
from orchestrator_core.conductor.recurrence.name import NAME
from orchestrator_core.conductor.site import Price, Site

FOUND = "work on each slice around a loop"
FOUND_SHARED = "work on slices that several loops read"
CHOSEN = "done within its steps"
CHOSEN_SHARED = "done within the steps of each"
GAIN = 0.9
"""It must take less than this part of the time, by prediction."""

LEAST = 0.01
"""Part of the time of all that is around it that it must save."""


def absorb(graph: Graph, node: Node, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph whose loop has taken in what nobody else reads, if it is then cheaper, or for
    memory smaller. Where every right rewrite is asked for, none: fission does the reverse."""
    found = gathered(graph, node)
    if not found.nodes or goal.always or _is_left_alone(node, FOUND, goal):
        return graph, []
    part, outputs = _part(graph, node, found)
    done = _done(part, node, found, goal)
    before, after = price(part), price(done)
    if not _is_taken(node, FOUND, before, after, goal):
        return graph, []
    made = in_place_of(graph, [node, *found.late], done, outputs)
    if goal.decided(NAME, node.source, FOUND) is None and not _gains(graph, made, goal):
        return graph, []
    reason = _why(len(found.nodes), before, after)
    return made, [Site(NAME, node.source, FOUND, CHOSEN, reason, before, after)]


def absorb_shared(graph: Graph, loops: Sequence[Node], goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph whose loops have all taken in what any of them reads, done again in each. What a
    forward and a backward loop both read is no array then either."""
    if len(loops) < 2 or goal.always or _is_left_alone(loops[0], FOUND_SHARED, goal):
        return graph, []
    made, count = graph, 0
    for first in [node.outputs[0] for node in loops]:
        node = made.producer[first]
        found = gathered(made, node, shares=True)
        if found.nodes:
            part, outputs = _part(made, node, found)
            done = _done(part, node, found, goal)
            made = in_place_of(made, [node, *found.late], done, outputs)
            count += len(found.nodes)
    before, after = price(graph), price(made)
    if not count or not _is_taken(loops[0], FOUND_SHARED, before, after, goal):
        return graph, []
    reason = _why(count, before, after)
    return made, [Site(NAME, loops[0].source, FOUND_SHARED, CHOSEN_SHARED, reason, before, after)]


def _why(operations: int, before: Price, after: Price) -> str:
    if after.temp_bytes <= before.temp_bytes:
        return f"{operations} operations leave no arrays of all steps"
    return f"{operations} operations are done in the loop, and what is dear in a step before it"


def _done(part: Graph, node: Node, found: Gathered, goal: Goal) -> Graph:
    """The loop that does all of it, or all but what is dear in each step alone."""
    whole = Absorbing(part, node, found).done()
    loop = next(each for each in whole.nodes if each.name == "scan")
    parted = fission(whole, loop, this_device(), goal)[0]
    if goal.objective == "time" and price(whole).seconds < price(parted).seconds:
        return whole
    return parted


def _part(graph: Graph, node: Node, found: Gathered) -> tuple[Graph, list[Value]]:
    """Nothing but a loop and what it takes in; and what others read of that."""
    nodes = [*found.before, node, *found.late]
    outputs = Absorbing(graph, node, found).outputs
    made = {value for each in nodes for value in each.outputs}
    read = dict.fromkeys(i for each in nodes for i in each.inputs if isinstance(i, Value))
    inputs = tuple(value for value in read if value not in made)
    return Graph(inputs, tuple(outputs), tuple(nodes), {}), outputs


def _gains(graph: Graph, made: Graph, goal: Goal) -> bool:
    """Does the whole gain, too? What the loop keeps now for what comes after it may be more than
    what it has taken in; for time it may take more bytes only by the part of the time that it
    saves."""
    before, after = price(graph), price(made)
    saved = 1.0 - after.seconds / max(before.seconds, 1e-12)
    more = after.temp_bytes / max(before.temp_bytes, 1) - 1.0
    return more <= 0 if goal.objective == "memory" else saved > LEAST and more <= saved


def _is_left_alone(node: Node, found: str, goal: Goal) -> bool:
    known = goal.decided(NAME, node.source, found)
    return known is not None and not known.is_changed


def _is_taken(node: Node, found: str, before: Price, after: Price, goal: Goal) -> bool:
    """As a pinned plan says, or else if it is better."""
    if goal.decided(NAME, node.source, found) is not None:
        return True
    if goal.objective == "memory":
        return after.temp_bytes < before.temp_bytes
    return after.seconds < GAIN * before.seconds
