"""Where products of one array are one product: where that is faster.

On a GPU, wherever fewer kernels and better filled ones pay for putting the other arrays side by
side. A CPU computes products side by side by itself, and then multiplies as fast (measured: one
product of 1 to 4096 rows takes 0.8 to 3 times as long as three or eight). In a loop it does not,
and there one product saves the calls of the others, if what is put side by side stays the same in
all steps, as with the four matrices of an LSTM (0.23 to 0.9 of the time, up to 64 x 64). What the
next step waits for is no part of one product with what it does not: that may leave the loop.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence, Set
from typing import TypeAlias

from orchestrator_core.conductor._jax import scan_counts
from orchestrator_core.conductor.algebra.judged import prices, site
from orchestrator_core.conductor.algebra.products import as_one, groups, independent
from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.cost.fusion_facts import LOOPS
from orchestrator_core.conductor.cost.invariant import invariant, unchanging
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.loops import with_bodies
from orchestrator_core.conductor.ir.needed import needed
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.ir.written import in_place_of
from orchestrator_core.conductor.site import Price, Site

CALL_S = 0.3e-6
"""Seconds that a CPU takes in a loop for calling its library. Measured, EPYC, 2026."""

Same: TypeAlias = Set[Atom] | None
"""In the body of a loop, what is the same in all steps; None outside of loops."""


def merged(
    graph: Graph, goal: Goal, same: Same = None, carried: int = 0
) -> tuple[Graph, list[Site]]:
    """The graph and all bodies of its loops, with products merged where that is faster.

    Args:
        carried: so many of its first outputs are what the next step of a loop begins with.
    """
    same = None if same is None else invariant(graph, same)
    graph, sites = _in_bodies(graph, goal, same)
    for side, outputs in _parted(graph, carried):
        # What was merged before has changed what these read, and what needs what.
        group = independent(graph, [graph.producer[each] for each in outputs], side)
        if len(group) < 2:
            continue
        new, outputs = as_one(group, side), [node.output for node in group]
        both = _prices(graph, group, side, new, same)
        decided = site(group[0], f"{len(group)} products of one array", "one product", both, goal)
        sites.append(decided)
        if decided.is_changed:
            graph = in_place_of(graph, group, new, outputs)
    return graph, sites


def _parted(graph: Graph, carried: int) -> list[tuple[int, list[Value]]]:
    """The groups, each of those alone that the next step waits for, or that it does not."""
    waited = needed(graph, graph.outputs[:carried])
    found = []
    for side, outputs in groups(graph):
        for is_waited in (True, False):
            part = [each for each in outputs if (each in waited) == is_waited]
            if len(part) > 1:
                found.append((side, part))
    return found


def _in_bodies(graph: Graph, goal: Goal, same: Same) -> tuple[Graph, list[Site]]:
    sites: list[Site] = []
    nodes = []
    for node in graph.nodes:
        carried = scan_counts(node.params)[1] if node.name == "scan" else 0
        done = [merged(body, goal, _within(node, body, same), carried) for body in node.bodies]
        sites += [site for _, found in done for site in found]
        if any(new is not body for (new, _), body in zip(done, node.bodies, strict=True)):
            node = with_bodies(node, [new for new, _ in done])
        nodes.append(node)
    if any(new is not old for new, old in zip(nodes, graph.nodes, strict=True)):
        graph = dataclasses.replace(graph, nodes=tuple(nodes))
    return graph, sites


def _prices(
    graph: Graph, group: Sequence[Node], side: int, new: Graph, same: Same
) -> tuple[Price, Price]:
    """Of products as they are, and of one."""
    device = this_device()
    outputs = [node.output for node in group]
    both = prices(group, new, outputs, device if same is None else device.within_loop())
    if device.platform != "cpu":
        return both
    before, after = both
    others = [node.inputs[1 - side] for node in group]
    is_same = same is not None and all(each in same for each in others)
    if is_same and not any(_is_spread(graph, output) for output in outputs):
        once = before.seconds / len(group)  # The least that is left.
        seconds = max(once, before.seconds - CALL_S * (len(group) - 1))
        return before, Price(seconds, after.temp_bytes)
    moved = sum(each.nbytes for each in (*others, *outputs))
    return before, Price(before.seconds + 2 * moved / device.byte_rate(moved), after.temp_bytes)


def _is_spread(graph: Graph, value: Value) -> bool:
    """Is it read for more elements than it has? Of such loops over a part of an array XLA makes no
    vectors (a memory of 64 slots: 1.5 times a step's time)."""
    seen, open_ = {value}, [value]
    while open_:
        readers = [each for each in graph.consumers.get(open_.pop(), ()) if each.name in LOOPS]
        made = [each.output for each in readers if each.output not in seen]
        if any(each.size > value.size for each in made):
            return True
        seen.update(made)
        open_ += made
    return False


def _within(node: Node, body: Graph, same: Same) -> Same:
    """Of what a body reads, what does not change from step to step."""
    if node.name != "cond":
        return unchanging(node, body)
    read = zip(body.inputs, node.inputs[1:], strict=True)
    return None if same is None else {value for value, atom in read if atom in same}
