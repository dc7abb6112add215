"""Inputs from other workers: a plain delay where that says all, otherwise a transfer of its own.

A transfer has variables where encoding takes a thread's time, or where a worker's memory is
limited, so that it matters when an output leaves and arrives. Everywhere else it is best sent at
once, and the edge is a delay that depends on the two workers.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from orchestrator_core.plan.cpsat.expand import Expanded
from orchestrator_core.plan.cpsat.variables import (
    Occupation,
    TransferVariables,
    Variables,
    Way,
)


def input_after_producer(v: Variables) -> None:
    """start(consumer) >= end(producer)."""
    for consumer, unit in enumerate(v.expanded.units):
        for producer, _ in unit.inputs:
            v.cp.add(v.units[consumer].start >= v.units[producer].end)


def input_after_delay(v: Variables) -> None:
    """start(consumer) >= end(producer) + encode + transit, from its worker to the consumer's.

    Where the delay is the same for all pairs of workers: unless both are on the same one. Else for
    each source, if the producer is there, plus the delay to where the consumer is.
    """
    for consumer, unit in enumerate(v.expanded.units):
        for producer, nbytes in unit.inputs:
            delays = edge_delays(v.expanded, producer, consumer, nbytes)
            _within_horizon(v, producer, consumer, delays)
            if len(set(delays.values())) == 1 and all(delays.values()):
                _delay_unless_same(v, producer, consumer, next(iter(delays.values())))
            else:
                _delay_by_source(v, producer, consumer, delays)


def _within_horizon(
    v: Variables, producer: int, consumer: int, delays: dict[tuple[int, int], int]
) -> None:
    """Implied: producer and consumer are on two workers only if heads, delay and tails allow it."""
    made, rest = _earliest_ends(v, producer), _least_rests(v, consumer)
    a, b = v.units[producer], v.units[consumer]
    bad = {
        (here, there)
        for (here, there), delay in delays.items()
        if made[here] + delay + rest[there] > v.expanded.horizon
    }
    for here, x in a.on.items():
        fine = [y for there, y in b.on.items() if (here, there) not in bad]
        if len(fine) < len(b.on):
            v.cp.add_bool_or([x.negated(), *fine])
    for there, y in b.on.items():
        fine = [x for here, x in a.on.items() if (here, there) not in bad]
        if len(fine) < len(a.on):
            v.cp.add_bool_or([y.negated(), *fine])


def _earliest_ends(v: Variables, unit: int) -> dict[int, int]:
    """By worker: ticks before which the unit does not end there."""
    choices = v.expanded.units[unit].choices
    return {w: min(c.head + c.ticks for c in choices if c.worker == w) for w in v.units[unit].on}


def _least_rests(v: Variables, unit: int) -> dict[int, int]:
    """By worker: ticks from the unit's start there to the makespan, at least."""
    choices = v.expanded.units[unit].choices
    return {w: min(c.ticks + c.tail for c in choices if c.worker == w) for w in v.units[unit].on}


def edge_delays(
    expanded: Expanded, producer: int, consumer: int, nbytes: float
) -> dict[tuple[int, int], int]:
    """Ticks from the producer's end to the consumer's start, by (source, destination)."""
    pairs = product(expanded.units[producer].workers, expanded.units[consumer].workers)
    return {
        (a, b): expanded.encode_ticks(producer, a, b) + expanded.transit_ticks(a, b, nbytes)
        for a, b in pairs
        if a != b
    }


def _delay_unless_same(v: Variables, producer: int, consumer: int, delay: int) -> None:
    a, b = v.units[producer], v.units[consumer]
    same = v.cp.new_bool_var("")
    for worker in sorted({*a.on, *b.on}):
        for one, other in ((a, b), (b, a)):
            if worker in one.on:
                there = [other.on[worker]] if worker in other.on else []
                v.cp.add_bool_or([same.negated(), one.on[worker].negated(), *there])
    v.cp.add(b.start >= a.end + delay).only_enforce_if(same.negated())


def _delay_by_source(
    v: Variables, producer: int, consumer: int, delays: dict[tuple[int, int], int]
) -> None:
    a, b = v.units[producer], v.units[consumer]
    for source, here in a.on.items():
        terms = [
            delays[source, worker] * there
            for worker, there in b.on.items()
            if delays.get((source, worker), 0) > 0
        ]
        if terms:
            v.cp.add(b.start >= a.end + sum(terms)).only_enforce_if(here)


def transfer_of_its_own(v: Variables) -> None:
    """For each output and each worker that may need it: encoding starts after the unit's end, and
    takes a thread of the source from `start` to `encoded`."""
    for producer, unit in enumerate(v.expanded.units):
        if not unit.consumers or not _matters(v.expanded, producer):
            continue
        workers = {w for consumer in unit.consumers for w in v.expanded.units[consumer].workers}
        for destination in sorted(workers):
            sources = [source for source in unit.workers if source != destination]
            if sources:
                _add_transfer(v, producer, destination, sources)


def _matters(expanded: Expanded, producer: int) -> bool:
    """Does it matter when the output is sent: encoding takes time, or memory is limited?"""
    unit = expanded.units[producer]
    consumers = [w for c in unit.consumers for w in expanded.units[c].workers]
    workers = {*unit.workers, *consumers}
    if expanded.output_bytes(producer) > 0 and any(
        np.isfinite(expanded.instance.cluster.workers[w].memory) for w in workers
    ):
        return True
    return any(
        expanded.encode_ticks(producer, a, b) > 0
        for a, b in product(unit.workers, consumers)
        if a != b
    )


def _add_transfer(v: Variables, producer: int, destination: int, sources: list[int]) -> None:
    expanded, cp = v.expanded, v.cp
    unit = v.units[producer]
    encode = {a: expanded.encode_ticks(producer, a, destination) for a in sources}
    # Where nothing is sent, these may lie past the horizon.
    latest = expanded.horizon + max(encode.values())
    start = cp.new_int_var(0, latest, "")
    encoded = start
    if any(encode.values()):
        encoded = cp.new_int_var(0, latest, "")
        cp.add(encoded == start + sum(ticks * unit.on[a] for a, ticks in encode.items() if ticks))
    cp.add(start >= unit.end)
    sent_from = {a: cp.new_bool_var("") for a in sources}
    v.transfers[producer, destination] = TransferVariables(start, encoded, sent_from)
    for source, ticks in encode.items():
        cp.add_implication(sent_from[source], unit.on[source])
        if ticks > 0:
            interval = cp.new_optional_fixed_size_interval_var(start, ticks, sent_from[source], "")
            way = Way(None, 1, ticks, sent_from[source])
            v.occupations[source].append(Occupation(interval, (way,)))
    for consumer in expanded.units[producer].consumers:
        there = v.units[consumer].on.get(destination)
        if there is not None:
            _consume(v, producer, consumer, destination)
            for source, sent in sent_from.items():
                cp.add_bool_or([sent, unit.on[source].negated(), there.negated()])


def _consume(v: Variables, producer: int, consumer: int, destination: int) -> None:
    """start(consumer) >= encoded + transit of its part, if it is at this destination."""
    nbytes = dict(v.expanded.units[consumer].inputs)[producer]
    transfer, unit = v.transfers[producer, destination], v.units[producer]
    transit = sum(
        v.expanded.transit_ticks(source, destination, nbytes) * unit.on[source]
        for source in transfer.sent_from
    )
    there = v.units[consumer].on[destination]
    v.cp.add(v.units[consumer].start >= transfer.encoded + transit).only_enforce_if(there)
