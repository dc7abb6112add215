"""Fission: what a loop does without its carries is taken out and done for all steps at once.

Only the order of sums within matrix products may change, and, unless it is to be strict, when sums
of few bits are rounded.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator_core.conductor.cost import Device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.recurrence.after import After, done_after
from orchestrator_core.conductor.recurrence.before import Before, done_before
from orchestrator_core.conductor.recurrence.counters import counted_before
from orchestrator_core.conductor.recurrence.prices import total
from orchestrator_core.conductor.recurrence.sums import done_at_the_end, products
from orchestrator_core.words import plural

WORTH = 0.04
"""The least part of a loop's time that must be saved."""

CPU_WORTH = 0.1
"""The same on a CPU where no product is taken out: how what is left is fused matters as much."""

ROOM = 1 << 28
"""Bytes that may be taken for it where nobody has said how many."""


def fission(graph: Graph, node: Node, device: Device, goal: Goal) -> tuple[Graph, list[str]]:
    """The graph, and what was taken out of the loop, in words."""
    done: list[str] = []
    for take in (_take_counters, _take_before, _take_sums, _take_before, _take_after):
        graph, rest, words = take(graph, node, device, goal)
        done += words
        if rest is None:
            break
        node = rest
    return graph, list(dict.fromkeys(done))


Taken = tuple[Graph, Node | None, list[str]]
"""The graph, the loop that is left, if one is, and what was taken out of it."""


def _take_counters(graph: Graph, node: Node, device: Device, goal: Goal) -> Taken:
    """Where that lets anything else out: counting itself is cheap."""
    counted = counted_before(graph, node)
    rest = left(counted, node)
    if counted is graph or rest is None:
        return graph, node, []
    before = Before(Scan.of(rest), device)
    return (counted, rest, []) if _is_worth_it(before, device, goal) else (graph, node, [])


def _take_before(graph: Graph, node: Node, device: Device, goal: Goal) -> Taken:
    before = Before(Scan.of(node), device)
    if not _is_worth_it(before, device, goal):
        return graph, node, []
    after = done_before(graph, node, before)
    return after, left(after, node), [_words(before.nodes, "before")]


def _take_after(graph: Graph, node: Node, device: Device, goal: Goal) -> Taken:
    half = After(Scan.of(node), device)
    if not _is_worth_it(half, device, goal):
        return graph, node, []
    after = done_after(graph, node, half)
    return after, left(after, node), [_words(half.nodes, "after")]


def _take_sums(graph: Graph, node: Node, device: Device, goal: Goal) -> Taken:
    found = products(Scan.of(node), is_strict=goal.is_strict)
    nbytes = sum(value.nbytes for each in found for value in each.operands)
    if not found or nbytes * Scan.of(node).length > _room(goal):
        return graph, node, []
    after = done_at_the_end(graph, node, found)
    return after, left(after, node), [_words([each.dot for each in found], "after")]


def left(graph: Graph, node: Node) -> Node | None:
    """The loop that still makes some of what a loop made."""
    made = [graph.producer[value] for value in node.outputs if value in graph.producer]
    return next((each for each in made if each.name == "scan"), None)


def _room(goal: Goal) -> int:
    if goal.always:
        return 1 << 62
    if goal.objective == "memory":
        return 0
    return ROOM if goal.memory is None else goal.memory


def _is_worth_it(half: Before | After, device: Device, goal: Goal) -> bool:
    if not half.nodes or half.temp_bytes > _room(goal):
        return False
    if goal.always:
        return True
    least = WORTH
    if device.platform == "cpu":
        if not half.is_large:
            return False
        if not any(node.name == "dot_general" for node in half.nodes):
            least = CPU_WORTH
    return half.gain >= least * total(half.scan.body.nodes, device)


def _words(nodes: Sequence[Node], where: str) -> str:
    products = sum(node.name == "dot_general" for node in nodes)
    what = plural(products, "matrix product") if products else plural(len(nodes), "operation")
    return f"{what} for all steps at once {where} it"
