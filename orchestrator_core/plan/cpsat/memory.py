"""Memory: running tasks and held outputs fit on each worker whose memory is limited.

Where times are rounded down, the end of a task may come out a tick early and an arrival two, but
never late. A hold may therefore begin that much later, so that every schedule in seconds still has
its counterpart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator_core.plan.cpsat.capacity import chosen
from orchestrator_core.plan.cpsat.units import whole_units
from orchestrator_core.plan.cpsat.variables import IntVar, Occupation, Variables

LATE_END = 1
LATE_ARRIVAL = 2
"""Ticks."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """Bytes taken while an interval lasts: one number, or one for each way of an occupation."""

    interval: Any
    nbytes: tuple[float, ...]
    occupation: Occupation | None = None


def memory_of_tasks_and_outputs(v: Variables) -> None:
    """At every moment on every worker: memory of running tasks + held outputs <= memory."""
    workers = v.expanded.instance.cluster.workers
    limited = [w for w, worker in enumerate(workers) if np.isfinite(worker.memory)]
    claims: dict[int, list[_Claim]] = {w: _running(v, w) for w in limited}
    if not limited:
        return
    for u, unit in enumerate(v.expanded.units):
        if unit.consumers and v.expanded.output_bytes(u) > 0:
            _hold_where_made(v, u, claims)
            for destination in limited:
                if (u, destination) in v.transfers:
                    claims[destination].append(_held_where_sent(v, u, destination))
    for w in limited:
        _limit(v, claims[w], workers[w].memory)


def _running(v: Variables, worker: int) -> list[_Claim]:
    """The memory of a mode, while a piece of it runs."""
    memory = v.expanded.instance.graph.mode_memory
    claims = []
    for o in v.occupations[worker]:
        nbytes = tuple(0.0 if way.mode is None else float(memory[way.mode]) for way in o.ways)
        if any(nbytes):
            claims.append(_Claim(o.interval, nbytes, o))
    return claims


def _hold_where_made(v: Variables, u: int, claims: dict[int, list[_Claim]]) -> None:
    """From the unit's end to the last end of its consumers there and of its encodings."""
    unit, here = v.expanded.units[u], v.units[u]
    if not set(here.on) & set(claims):
        return
    late = 0 if v.expanded.ticks.exact else LATE_END
    last = v.cp.new_int_var(0, v.expanded.horizon + late, "")
    for consumer in unit.consumers:
        other = v.units[consumer]
        for worker in set(here.on) & set(other.on):
            v.cp.add(last >= other.end).only_enforce_if(here.on[worker], other.on[worker])
    for destination in range(len(v.expanded.instance.cluster)):
        if transfer := v.transfers.get((u, destination)):
            for sent in transfer.sent_from.values():
                v.cp.add(last >= transfer.encoded).only_enforce_if(sent)
    length = v.cp.new_int_var(0, v.expanded.horizon, "")
    v.cp.add(last == here.end + late + length)
    for worker in set(here.on) & set(claims):
        interval = v.cp.new_optional_interval_var(
            here.end + late, length, last, here.on[worker], ""
        )
        claims[worker].append(_Claim(interval, (v.expanded.output_bytes(u),)))


def _held_where_sent(v: Variables, u: int, destination: int) -> _Claim:
    """From the arrival, or from an earlier start of a consumer there, to the last of their ends."""
    expanded, cp = v.expanded, v.cp
    transfer, late = v.transfers[u, destination], 0 if expanded.ticks.exact else LATE_ARRIVAL
    held = cp.new_bool_var("")
    first = cp.new_int_var(0, expanded.horizon, "")
    length = cp.new_int_var(0, expanded.horizon, "")
    last = cp.new_int_var(0, expanded.horizon, "")
    cp.add(last == first + length)  # also while it is absent, see `occupations.py`
    nbytes = expanded.output_bytes(u)
    for source, sent in transfer.sent_from.items():
        transit = expanded.transit_ticks(source, destination, nbytes)
        cp.add(first <= transfer.encoded + transit + late).only_enforce_if(sent)
        cp.add_implication(sent, held)
    for consumer in expanded.units[u].consumers:
        there = v.units[consumer].on.get(destination)
        if there is not None:
            cp.add(first <= v.units[consumer].start).only_enforce_if(held, there)
            cp.add(last >= v.units[consumer].end).only_enforce_if(held, there)
    return _Claim(cp.new_optional_interval_var(first, length, last, held, ""), (nbytes,))


def _limit(v: Variables, claims: list[_Claim], memory: float) -> None:
    whole, capacity = whole_units([each for claim in claims for each in claim.nbytes], memory)
    left = iter(whole)
    bytes_of = [tuple(next(left) for _ in claim.nbytes) for claim in claims]
    if sum(map(max, bytes_of)) > capacity:
        demands = [_demand(v, c, units) for c, units in zip(claims, bytes_of, strict=True)]
        v.cp.add_cumulative([claim.interval for claim in claims], demands, capacity)


def _demand(v: Variables, claim: _Claim, units: tuple[int, ...]) -> int | IntVar:
    if claim.occupation is None or len(set(units)) == 1:
        return units[0]
    return chosen(v, claim.occupation, units)
