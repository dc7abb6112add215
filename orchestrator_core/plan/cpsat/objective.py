"""Objectives in the CP-SAT model: `minimise` replaces the makespan by any of them.

Each criterion is a whole expression times a unit; the definitions are those of
`objectives/values.py`. Where prices, weights or bytes have no common unit they are rounded down.
The optimum is the true one where the ticks are exact, also for due dates if tardiness counts more
than the price. Where they round, a lease may come out a tick too long, so that nothing is proven of
the price.

What a model for another objective must not do: take its horizon from a schedule's makespan, cut
off choices by makespan heads and tails, or exchange workers of different price.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from orchestrator_core.plan.cpsat.memory import (
    _Claim,
    _demand,
    _held_where_sent,
    _hold_where_made,
    _running,
)
from orchestrator_core.plan.cpsat.transfers import _add_transfer
from orchestrator_core.plan.cpsat.variables import IntVar, Variables
from orchestrator_core.plan.engine.unit import common_unit
from orchestrator_core.plan.objective import Objective

SECONDS_PER_HOUR = 3600.0

MOST_STEPS = 10**6
"""Whole numbers up to which amounts without a common unit are rounded."""

MOST_PARTS = 1000
"""Parts into which a tick is divided for due dates that lie between ticks."""

MOST_VALUE = 2**60
"""A sum of criteria stays below; those that do not fit are left out, the last ones first."""


class Term(NamedTuple):
    """A criterion: `unit` times a whole expression between 0 and `most`."""

    expression: Any
    most: int
    unit: float


@dataclass(frozen=True, slots=True)
class Minimised:
    """What the model minimises: the terms, the most important first, each times its factor."""

    terms: tuple[Term, ...]
    factors: tuple[int, ...]

    def value(self, solver_value: Callable[[Any], int]) -> tuple[float, ...]:
        """What each criterion is worth in a solution of the model."""
        return tuple(term.unit * solver_value(term.expression) for term in self.terms)

    def lower_bound(self, objective_bound: float) -> float:
        """A bound on the first criterion from the solver's bound on the sum."""
        whole = math.ceil(objective_bound - 1e-6)
        rest = sum(f * t.most for f, t in zip(self.factors[1:], self.terms[1:], strict=True))
        return self.terms[0].unit * max(0, -(-(whole - rest) // self.factors[0]))


def minimise(v: Variables, objective: Objective) -> Minimised:
    """Minimise the criteria, each before all that follow it; to be called when all constraints are
    stated.

    Each criterion weighs more than the whole range of those after it.
    """
    terms = [_TERMS[name](v) for name in objective.criteria]
    while len(terms) > 1 and math.prod(term.most + 1 for term in terms) > MOST_VALUE:
        terms.pop()
    factors = [1] * len(terms)
    for k in range(len(terms) - 2, -1, -1):
        factors[k] = factors[k + 1] * (terms[k + 1].most + 1)
    v.cp.minimize(sum(f * term.expression for f, term in zip(factors, terms, strict=True)))
    return Minimised(tuple(terms), tuple(factors))


def _makespan(v: Variables) -> Term:
    return Term(v.makespan, v.expanded.horizon, _tick(v))


def _tardiness(v: Variables) -> Term:
    """For each unit with a due date: late >= end - due, times the weight."""
    graph, ticks = v.expanded.instance.graph, v.expanded.ticks
    late = [
        (unit, variables)
        for unit, variables in zip(v.expanded.units, v.units, strict=True)
        if math.isfinite(graph.due[unit.task]) and graph.weight[unit.task] > 0
    ]
    whole, size = _whole([float(graph.weight[unit.task]) for unit, _ in late])
    parts, length = _parts_of_a_tick(v, [float(graph.due[unit.task]) for unit, _ in late])
    total, most = v.cp.new_constant(0), 0
    for weight, (unit, variables) in zip(whole, late, strict=True):
        seconds = min(float(graph.due[unit.task]), ticks.seconds(v.expanded.horizon))
        due = math.ceil(seconds / length * (1 - 1e-12) - 1e-9)
        longest = max(0, parts * v.expanded.horizon - due)
        tardy = v.cp.new_int_var(0, longest, "")
        v.cp.add(tardy >= parts * variables.end - due)
        total += weight * tardy
        most += weight * longest
    return Term(total, most, size * length)


def _parts_of_a_tick(v: Variables, dues: list[float]) -> tuple[int, float]:
    """(parts, seconds of a part) such that due dates are whole parts, if that is possible."""
    tick = _tick(v)
    unit = common_unit(sorted({tick, *(due for due in dues if due > 0)}))
    if unit is None or tick > MOST_PARTS * unit:
        return 1, tick
    return round(tick / float(unit)), float(unit)


def _price(v: Variables) -> Term:
    """For each worker: lease >= last use - first use; 0 where it is not used."""
    _every_transfer(v)
    workers = v.expanded.instance.cluster.workers
    whole, unit = _whole([worker.price for worker in workers])
    total, most = v.cp.new_constant(0), 0
    for w, price in enumerate(whole):
        if price > 0:
            lease = _lease(v, w)
            total += price * lease
            most += price * 2 * v.expanded.horizon
    return Term(total, most, unit * _tick(v) / SECONDS_PER_HOUR)


def _lease(v: Variables, w: int) -> IntVar:
    cp, latest = v.cp, 2 * v.expanded.horizon
    first, last = cp.new_int_var(0, latest, ""), cp.new_int_var(0, latest, "")
    lease = cp.new_int_var(0, latest, "")
    cp.add(lease == last - first)
    for variables in v.units:
        if w in variables.on:
            cp.add(first <= variables.start).only_enforce_if(variables.on[w])
            cp.add(last >= variables.end).only_enforce_if(variables.on[w])
    for (u, destination), transfer in v.transfers.items():
        for source, sent in transfer.sent_from.items():
            if w in (source, destination):
                way = v.expanded.transit_ticks(source, destination, v.expanded.output_bytes(u))
                cp.add(last >= transfer.encoded + way).only_enforce_if(sent)
                if w == destination:
                    cp.add(first <= transfer.encoded).only_enforce_if(sent)
    return lease


def _every_transfer(v: Variables) -> None:
    """Variables for the transfers that had none because it did not matter when they are sent."""
    for producer, unit in enumerate(v.expanded.units):
        workers = {w for consumer in unit.consumers for w in v.expanded.units[consumer].workers}
        for destination in sorted(workers):
            sources = [source for source in unit.workers if source != destination]
            if sources and (producer, destination) not in v.transfers:
                _add_transfer(v, producer, destination, sources)


def _busy_price(v: Variables) -> Term:
    """Threads times ticks of every choice that is taken, and of every encoding."""
    threads = v.expanded.instance.graph.mode_threads
    workers = v.expanded.instance.cluster.workers
    whole, unit = _whole([worker.price / worker.threads for worker in workers])
    total, most = v.cp.new_constant(0), 0
    for one, variables in zip(v.expanded.units, v.units, strict=True):
        spent = [whole[c.worker] * int(threads[c.mode]) * c.ticks for c in one.choices]
        total += sum(k * x for k, x in zip(spent, variables.present, strict=True))
        most += max(spent)
    for (u, destination), transfer in v.transfers.items():
        for source, sent in transfer.sent_from.items():
            spent_here = whole[source] * v.expanded.encode_ticks(u, source, destination)
            total += spent_here * sent
            most += spent_here
    return Term(total, most, unit * _tick(v) / SECONDS_PER_HOUR)


def _memory(v: Variables) -> Term:
    """peak >= running tasks + held outputs, at every moment on every worker: a cumulative of which
    the capacity is a variable."""
    _every_transfer(v)
    workers = range(len(v.expanded.instance.cluster))
    claims: dict[int, list[_Claim]] = {w: _running(v, w) for w in workers}
    for u, unit in enumerate(v.expanded.units):
        if unit.consumers and v.expanded.output_bytes(u) > 0:
            _hold_where_made(v, u, claims)
            for destination in workers:
                if (u, destination) in v.transfers:
                    claims[destination].append(_held_where_sent(v, u, destination))
    nbytes = [each for of in claims.values() for claim in of for each in claim.nbytes]
    whole, size = _whole(nbytes)
    peak, left = v.cp.new_int_var(0, sum(whole), "peak"), iter(whole)
    for of in claims.values():
        amounts = [tuple(next(left) for _ in claim.nbytes) for claim in of]
        demands = [_demand(v, claim, each) for claim, each in zip(of, amounts, strict=True)]
        if of:
            v.cp.add_cumulative([claim.interval for claim in of], demands, peak)
    return Term(peak, sum(whole), size)


def _whole(amounts: list[float]) -> tuple[list[int], float]:
    """The amounts in whole units, rounded down where they have none in common, and the unit."""
    different = sorted({amount for amount in amounts if amount > 0})
    if not different:
        return [0 for _ in amounts], 1.0
    unit = common_unit(different)
    if unit is not None and different[-1] <= MOST_STEPS * unit:
        return [round(amount / float(unit)) for amount in amounts], float(unit)
    step = different[-1] / MOST_STEPS
    return [math.floor(amount / step * (1 - 1e-12)) for amount in amounts], step


def _tick(v: Variables) -> float:
    return v.expanded.ticks.seconds(1)


_TERMS: dict[str, Callable[[Variables], Term]] = {
    "makespan": _makespan,
    "tardiness": _tardiness,
    "price": _price,
    "busy-price": _busy_price,
    "memory": _memory,
}
