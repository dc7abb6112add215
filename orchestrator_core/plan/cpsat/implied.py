"""Implied constraints: no schedule that is looked for breaks them, and they prove more sooner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from orchestrator_core.plan.cpsat.variables import BoolVar, Supply, Variables

STEPS = 6
"""Different heads, and different tails, for which windows of a supply are made."""


def heads_and_tails(v: Variables) -> None:
    """start >= head and makespan >= end + tail, of the choice that is taken."""
    for unit, variables in zip(v.expanded.units, v.units, strict=True):
        choices = list(zip(unit.choices, variables.present, strict=True))
        if len({choice.head for choice, _ in choices}) > 1:
            v.cp.add(variables.start >= sum(c.head * x for c, x in choices if c.head > 0))
        if any(choice.tail > 0 for choice, _ in choices):
            after = sum(c.tail * x for c, x in choices if c.tail > 0)
            v.cp.add(v.makespan >= variables.end + after)
        if len({choice.tail + choice.head + choice.ticks for choice, _ in choices}) > 1:
            v.cp.add(v.makespan >= sum((c.head + c.ticks + c.tail) * x for c, x in choices))


class _Energy(NamedTuple):
    """Capacity times ticks that a way takes if it is taken, within its head and tail."""

    head: int
    tail: int
    amount: int
    taken: BoolVar


def makespan_after_load(v: Variables) -> None:
    """What starts after a head and ends before a tail fits in between: capacity * (makespan - head
    - tail) >= its energy.

    A supply that takes nothing of a window would still ask for makespan >= head + tail, so only
    windows are made for which that is known (`lower`).
    """
    for supply in v.supplies:
        energies = list(_energies(supply))
        for head in _some({each.head for each in energies}):
            for tail in _some({each.tail for each in energies}):
                if head + tail <= v.lower:
                    _window(v, supply.capacity, head, tail, energies)


def _window(v: Variables, capacity: int, head: int, tail: int, energies: list[_Energy]) -> None:
    inside = [each for each in energies if each.head >= head and each.tail >= tail]
    if sum(each.amount for each in inside) > capacity * max(0, v.lower - head - tail):
        energy = sum(each.amount * each.taken for each in inside)
        v.cp.add(capacity * v.makespan >= energy + capacity * (head + tail))


def _energies(supply: Supply) -> Iterator[_Energy]:
    for use in supply.uses:
        for way, demand in zip(use.occupation.ways, use.demands, strict=True):
            if demand > 0:
                yield _Energy(way.head, way.tail, demand * way.ticks, way.taken)


def _some(values: set[int]) -> list[int]:
    """The values, or so many of them, the first and the last among them."""
    order = sorted(values)
    if len(order) <= STEPS:
        return order
    return sorted({order[k * (len(order) - 1) // (STEPS - 1)] for k in range(STEPS)})


def threads_of_the_cluster(v: Variables) -> None:
    """Wherever they run, the shortest times of all pieces fit on all threads together."""
    workers = v.expanded.instance.cluster.workers
    if all(len(unit.workers) == 1 for unit in v.expanded.units):
        return
    graph = v.expanded.instance.graph
    intervals, demands = [], []
    for unit, variables in zip(v.expanded.units, v.units, strict=True):
        threads = min(int(graph.mode_threads[choice.mode]) for choice in unit.choices)
        for k, start in enumerate(variables.starts):
            ticks = min(choice.pieces[k] for choice in unit.choices)
            if ticks > 0:
                intervals.append(v.cp.new_fixed_size_interval_var(start, ticks, ""))
                demands.append(threads)
    supply = sum(worker.threads for worker in workers)
    if sum(demands) > supply:
        v.cp.add_cumulative(intervals, demands, supply)
