"""Between a schedule in seconds and the model's variables, in both directions.

A rough schedule is what CP-SAT found, in seconds: placement and order count, its times are those of
the rounded-down model. It keeps a segment for each piece, also where one follows the other at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from orchestrator_core.plan.cpsat.expand import Choice
from orchestrator_core.plan.cpsat.memory import LATE_ARRIVAL
from orchestrator_core.plan.cpsat.ticks import Ticks
from orchestrator_core.plan.cpsat.variables import Variables
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer

Value = Callable[[Any], int]
"""The value of a variable in the solution."""


def rough_schedule(v: Variables, value: Value) -> Schedule:
    """The solution as a schedule in seconds."""
    rows = [_assignment(v, u, value) for u in range(len(v.units))]
    return Schedule(rows, _transfers(v, value))


def lateness(v: Variables) -> float:
    """Seconds by which the model lets something be held too late (see `memory`)."""
    return 0.0 if v.expanded.ticks.exact else 2 * v.expanded.ticks.seconds(LATE_ARRIVAL)


def _assignment(v: Variables, u: int, value: Value) -> Assignment:
    graph, unit, variables = v.expanded.instance.graph, v.expanded.units[u], v.units[u]
    choice = next(c for c, x in zip(unit.choices, variables.present, strict=True) if value(x) == 1)
    seconds = v.expanded.ticks.seconds
    pieces = tuple(
        (seconds(value(start)), seconds(value(end)))
        for start, end in zip(variables.starts, variables.ends, strict=True)
    )
    return Assignment(
        task=graph.names[unit.task],
        worker=v.expanded.instance.cluster.workers[choice.worker].name,
        start=pieces[0][0],
        end=pieces[-1][1],
        mode=choice.mode - int(graph.mode_ptr[unit.task]),
        instance=unit.number,
        segments=pieces if len(pieces) > 1 else (),
    )


def _transfers(v: Variables, value: Value) -> Iterator[Transfer]:
    """One for each output and each other worker that runs a consumer of it."""
    expanded = v.expanded
    place = [next(w for w, x in unit.on.items() if value(x) == 1) for unit in v.units]
    names = expanded.instance.cluster.names
    for u, unit in enumerate(expanded.units):
        source = place[u]
        for destination in sorted({place[c] for c in unit.consumers} - {source}):
            own = v.transfers.get((u, destination))
            start = value(own.start if own else v.units[u].end)
            encoded = start + expanded.encode_ticks(u, source, destination)
            nbytes = expanded.output_bytes(u)
            end = encoded + expanded.transit_ticks(source, destination, nbytes)
            start_s, encoded_s, end_s = map(expanded.ticks.seconds, (start, encoded, end))
            yield Transfer(
                task=expanded.instance.graph.names[unit.task],
                source=names[source],
                destination=names[destination],
                start=start_s,
                encoded=encoded_s,
                end=end_s,
                nbytes=nbytes,
                instance=unit.number,
            )


def piece_starts(ticks: Ticks, assignment: Assignment, choice: Choice) -> list[int]:
    """Ticks at which each piece starts; a segment of a schedule holds one or more pieces."""
    segments = assignment.segments or ((assignment.start, assignment.end),)
    limits = [(ticks.floor(start), ticks.ceil(end)) for start, end in segments]
    starts: list[int] = []
    at, k = limits[0][0], 0
    for length in choice.pieces:
        if at + length > limits[k][1] and k + 1 < len(limits):
            k += 1
            at = limits[k][0]
        starts.append(at)
        at += length
    return starts
