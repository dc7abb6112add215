"""When pairs of loops are chunked."""

from __future__ import annotations

import dataclasses

from orchestrator_core.conductor.cost import Device, price
from orchestrator_core.conductor.facts.recurrent import in_words, systems_of
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.recurrence.chunks import Chunks, in_chunks
from orchestrator_core.conductor.recurrence.name import NAME
from orchestrator_core.conductor.recurrence.pair import Pair, pairs
from orchestrator_core.conductor.recurrence.prices import total, traffic
from orchestrator_core.conductor.site import AS_IT_IS, Price, Site

WORTH = 0.03
"""The least part of the time of both loops that must be saved."""

FASTER = "what would be kept takes longer to move than to compute"

OTHERS = 2
"""How many times as much as what is kept goes through the cache until it is read. Measured, EPYC,
2026: keeping 3, 7 and 10 MB was faster than computing them again, 16 to 34 MB slower."""


def chunked_pairs(graph: Graph, device: Device, goal: Goal) -> tuple[Graph, list[Site]]:
    """All pairs of a graph for which that is right."""
    sites = []
    for pair in list(pairs(graph)):
        if pair.forward.length < 4 or any(node.effects for node in pair.again):
            continue
        graph, site = _tried(graph, pair.within(graph), device, goal)
        sites += [site] if site.is_changed or site.reason else []
    return graph, sites


def _tried(graph: Graph, pair: Pair, device: Device, goal: Goal) -> tuple[Graph, Site]:
    chunks, source = Chunks.of(pair), pair.first.source
    found = in_words(systems_of(pair.forward)) + ", of which its derivative keeps values"
    before = Price(_seconds_now(pair, device), pair.forward.length * pair.kept_bytes)
    known = goal.decided(NAME, source, found)
    if known is not None and "size" in known.settings:
        chunks = dataclasses.replace(chunks, size=int(known.settings["size"]))
    after = Price(_seconds_then(pair, device), chunks.bytes_of(pair))
    reason = _reason(before, after, pair, device, goal) if known is None else known.reason
    if not reason or (known is not None and not known.is_changed):
        return graph, Site(NAME, source, found, AS_IT_IS, reason, before, after)
    try:
        made = in_chunks(graph, pair, chunks)
    except Exception as error:
        return graph, Site.failed(NAME, source, found, error)
    if known is None and reason == FASTER:
        was, now = price(graph, device).seconds, price(made, device).seconds
        if now >= was:
            reason = f"in chunks all of it would take {now:.2g} s, as it is {was:.2g} s"
            return graph, Site(NAME, source, found, AS_IT_IS, reason, before, after)
    chosen, settings = f"recomputed in chunks of {chunks.size} steps", {"size": chunks.size}
    return made, Site(NAME, source, found, chosen, reason, before, after, settings)


def _seconds_now(pair: Pair, device: Device) -> float:
    """To keep the values and read them again."""
    whole = pair.forward.length * pair.kept_bytes
    if device.part_in_cache(OTHERS * whole) == 1:
        return 2 * whole / device.cache_bandwidth
    return 2 * traffic(whole, whole, device)


def _seconds_then(pair: Pair, device: Device) -> float:
    """To compute them again."""
    return pair.forward.length * total(pair.again, device)


def _reason(before: Price, after: Price, pair: Pair, device: Device, goal: Goal) -> str:
    """Why they are chunked; empty if they are not. Where all states alone are less than what chunks
    keep, the rewrite "loops" keeps those and does the rest again."""
    nodes = [*pair.forward.body.nodes, *pair.backward.body.nodes]
    whole = pair.forward.length * total(nodes, device) + before.seconds
    if goal.always:
        return "every rewrite was asked for"
    if 2 * after.temp_bytes > before.temp_bytes:
        return ""
    if any(node.bodies for node in pair.again) and goal.objective == "time":
        return ""
    if goal.objective == "memory" or before.temp_bytes > (goal.memory or 1 << 62):
        states = pair.forward.length * pair.carry_bytes
        is_left_to_loops = goal.permits("loops") and states <= after.temp_bytes
        return "" if is_left_to_loops else "less memory was asked for"
    if before.seconds - after.seconds > WORTH * whole:
        return FASTER
    return ""
