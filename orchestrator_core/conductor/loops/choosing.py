"""Which of the ways to keep less is taken, if any."""

from __future__ import annotations

from orchestrator_core.conductor.cost import price
from orchestrator_core.conductor.cost.loops import trips
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.loops.residuals import Residuals, residuals
from orchestrator_core.conductor.loops.sinking import sunk
from orchestrator_core.conductor.loops.ways import BOTH, CHEAPER, LEAST, TILES, WAYS, taken
from orchestrator_core.conductor.site import AS_IT_IS, Price, Site
from orchestrator_core.conductor.tile.rewrite import tile
from orchestrator_core.conductor.tile.settings import settings_for
from orchestrator_core.words import plural

NAME = "loops"

WORTH = 2**10
"""Elements from which on a constant of a loop is worth a thought."""

GAIN = 0.98
"""What is new must take less than this part of what was, by prediction. NO_LOSS: and what only
prepares a gain, no more than this."""

NO_LOSS = 1.02


def with_more_inside(graph: Graph, which: int, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph, one of whose scans makes itself what it was given."""
    node = scans(graph)[which]
    new = sunk(graph, node, 1 if goal.always else WORTH, large(goal))
    if new is None:
        return graph, []
    after = graph.with_nodes(new.node() if each is node else each for each in graph.nodes)
    before_price, after_price = price(graph), price(after)
    found = "values that are the same in all steps of a scan"
    pinned = goal.decided(NAME, node.source, found)
    gains = goal.always or after_price.seconds <= NO_LOSS * before_price.seconds
    if not (gains if pinned is None else pinned.is_changed):
        return graph, [_refused(node, found, before_price, "cheaper to read than to make again")]
    how = "made in each step", "cheaper than to read"
    return after, [Site(NAME, node.source, found, *how, before_price, after_price)]


def with_less_kept(graph: Graph, which: int, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph, one of whose scans keeps less for other scans."""
    found = residuals(graph, scans(graph)[which])
    if not found.edges:
        return graph, []
    what = f"{plural(len(found.edges), 'stack')} ({_mb(found.nbytes)}) kept by a scan for another"
    before = price(graph)
    way, after, reason = _way(graph, found, before, goal, what)
    if after is None:
        return graph, [_refused(found.node, what, before, reason)]
    chosen = f"{_left(graph, after, which)} kept, the rest done again"
    settings = {"way": way}
    prices = before, price(after)
    return after, [Site(NAME, found.node.source, what, chosen, reason, *prices, settings)]


def _way(
    graph: Graph, found: Residuals, before: Price, goal: Goal, what: str
) -> tuple[str, Graph | None, str]:
    """The way that is taken, the graph then, and why; None as the graph if none is."""
    pinned = goal.decided(NAME, found.node.source, what)
    if pinned is not None:
        way = pinned.settings.get("way")
        graph_then = taken(way, graph, found, large(goal)) if way in WAYS else None
        return str(way), graph_then, pinned.reason
    if goal.always or goal.objective == "memory":
        return _smallest(graph, found, before, goal)
    way, after, reason = _fastest(graph, found, before, goal)
    now = before if after is None else price(after)
    if goal.memory is not None and now.temp_bytes > goal.memory:
        least = _smallest(graph, found, now, goal)
        return (way, after, reason) if least[1] is None else least
    return way, after, reason


def _smallest(
    graph: Graph, found: Residuals, before: Price, goal: Goal
) -> tuple[str, Graph | None, str]:
    after = taken(LEAST, graph, found, large(goal))
    if after is None or not (goal.always or price(after).temp_bytes < GAIN * before.temp_bytes):
        return LEAST, None, "doing it again would not lower the peak"
    return LEAST, after, "takes less memory"


def _fastest(
    graph: Graph, found: Residuals, before: Price, goal: Goal
) -> tuple[str, Graph | None, str]:
    after = taken(CHEAPER, graph, found, large(goal))
    if after is not None and price(after).seconds >= GAIN * before.seconds:
        after = None
    tiled = TILES if after is None else BOTH
    then = taken(tiled, graph, found, large(goal)) if goal.permits("tiling") else None
    if then is not None and in_tiles(then, goal) < GAIN * in_tiles(after or graph, goal):
        return tiled, then, "values of all pairs can be made tile by tile"
    if after is not None:
        return CHEAPER, after, "cheaper to do again than to keep"
    return CHEAPER, None, "keeping it is cheaper than doing it again"


def in_tiles(graph: Graph, goal: Goal) -> float:
    """Seconds of the graph if the bodies of its scans are tiled as far as that gains."""
    total, tiled = price(graph).seconds, 0.0
    for node in [each for each in graph.nodes if each.name == "scan"]:
        for site in tile(node.bodies[0], goal)[1]:
            if site.is_changed and site.before is not None and site.after is not None:
                total -= trips(node) * (site.before.seconds - site.after.seconds)
                tiled += trips(node) * site.after.seconds
    return max(total, tiled)


def large(goal: Goal) -> int:
    """Elements from which on a value is worth a tiling."""
    return settings_for(goal).min_elements


def scans(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if node.name == "scan"]


def _left(before: Graph, after: Graph, which: int) -> str:
    """What a scan keeps for others now. It is gone if nobody reads anything else of it."""
    is_gone = len(scans(after)) < len(scans(before))
    left = None if is_gone else residuals(after, scans(after)[which])
    count, nbytes = (0, 0) if left is None else (len(left.edges), left.nbytes)
    return f"{plural(count, 'stack')} ({_mb(nbytes)})"


def _refused(node: Node, found: str, before: Price, reason: str) -> Site:
    return Site(NAME, node.source, found, AS_IT_IS, reason, before)


def _mb(nbytes: int) -> str:
    return f"{nbytes / 1e6:.3g} MB"
