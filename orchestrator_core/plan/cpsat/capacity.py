"""What workers and the cluster have is enough at every moment: threads, resources, stock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from orchestrator_core.graph.amounts import Amounts
from orchestrator_core.plan.cpsat.units import whole_units
from orchestrator_core.plan.cpsat.variables import IntVar, Occupation, Supply, Use, Variables, Way


def supplies_of_workers(v: Variables) -> None:
    """Threads (running pieces and one for each running encoding) and resources (running pieces)."""
    graph = v.expanded.instance.graph
    for w, worker in enumerate(v.expanded.instance.cluster.workers):
        _supply(v, w, worker.threads, lambda way: float(way.threads))
        for name, amount in worker.resources.items():
            _supply(
                v,
                w,
                amount,
                lambda way, name=name: (  # type: ignore[misc]
                    0.0 if way.mode is None else _of(graph.demand(way.mode).resources, name)
                ),
            )


def _supply(v: Variables, worker: int, amount: float, demand: Callable[[Way], float]) -> None:
    amounts = [[demand(way) for way in o.ways] for o in v.occupations[worker]]
    whole, capacity = whole_units([a for each in amounts for a in each], amount)
    left = iter(whole)
    uses = [
        Use(o, demands)
        for o in v.occupations[worker]
        if any(demands := tuple(next(left) for _ in o.ways))
    ]
    if sum(max(use.demands) for use in uses) > capacity:
        v.supplies.append(Supply(tuple(uses), capacity))


def capacity_of_workers(v: Variables) -> None:
    """At every moment: what running pieces and encodings take <= what there is."""
    for supply in v.supplies:
        intervals = [use.occupation.interval for use in supply.uses]
        if all(2 * demand > supply.capacity for use in supply.uses for demand in use.demands):
            v.cp.add_no_overlap(intervals)
        else:
            demands = [_demand(v, use) for use in supply.uses]
            v.cp.add_cumulative(intervals, demands, supply.capacity)


def _demand(v: Variables, use: Use) -> int | IntVar:
    if len(set(use.demands)) == 1:
        return use.demands[0]
    return chosen(v, use.occupation, use.demands)


def chosen(v: Variables, occupation: Occupation, values: tuple[int, ...]) -> IntVar:
    """The value that belongs to the way taken; anything if the occupation is absent."""
    from ortools.sat.python import cp_model

    domain = cp_model.Domain.from_values(sorted(set(values)))
    value = v.cp.new_int_var_from_domain(domain, "")
    for way, each in zip(occupation.ways, values, strict=True):
        v.cp.add(value == each).only_enforce_if(way.taken)
    return value


def stock_of_the_cluster(v: Variables) -> None:
    """Over the whole schedule, for each stock: what all units consume <= stock."""
    instance = v.expanded.instance
    for name in sorted({name for demand in instance.graph.demands for name in demand.consumes}):
        users = list(_consumers(v, name))
        stock = _of(instance.cluster.stock, name)
        demands, capacity = whole_units([amount for _, amount in users], stock)
        if sum(demands) > capacity:
            v.cp.add(sum(d * x for d, (x, _) in zip(demands, users, strict=True)) <= capacity)


def _consumers(v: Variables, name: str) -> Iterator[tuple[Any, float]]:
    """(literal, amount) of each choice that consumes some of it."""
    graph = v.expanded.instance.graph
    for unit, variables in zip(v.expanded.units, v.units, strict=True):
        for choice, present in zip(unit.choices, variables.present, strict=True):
            amount = _of(graph.demand(choice.mode).consumes, name)
            if amount > 0:
                yield present, amount


def _of(amounts: Amounts, name: str) -> float:
    return amounts.get(name, 0.0)
