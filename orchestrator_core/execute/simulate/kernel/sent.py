"""Sent: what travels where, found by unit and destination; a table with open addresses."""

from __future__ import annotations

from orchestrator_core.execute.simulate.kernel.state import (
    ARRIVED,
    BEFORE,
    DESTINATION,
    FIRST,
    FULL,
    NEEDED_BY,
    NEXT,
    TRANSFER,
    TRANSFERS,
    UNIT,
    WORKER,
    State,
)
from orchestrator_core.plan.engine.compiled import inlined

SPREADS = 2_654_435_761
"""A number that spreads neighbours over the table; about 2**32 over the golden ratio."""


@inlined
def is_there(s: State, unit: int, worker: int) -> bool:
    """Is the output of the unit, which has ended, on the worker?"""
    if s.unit[unit, WORKER] == worker:
        return True
    x = s.table[_slot(s, unit, worker)]
    return bool(x >= 0 and s.sent[x, ARRIVED] == 1)


@inlined
def transfer_of(s: State, unit: int, worker: int) -> int:
    """The transfer of the unit's output to the worker, or -1."""
    return int(s.table[_slot(s, unit, worker)])


@inlined
def new_transfer(s: State, unit: int, worker: int) -> int:
    """Note another transfer; where there is no room, the first one is returned instead."""
    x = s.number[TRANSFERS]
    if x == len(s.sent):
        s.number[FULL] = 1
        return 0
    s.number[TRANSFERS] += 1
    s.sent[x, UNIT], s.sent[x, DESTINATION] = unit, worker
    s.sent[x, ARRIVED], s.sent[x, FIRST] = 0, -1
    s.table[_slot(s, unit, worker)] = x
    return int(x)


@inlined
def wait_for(s: State, need: int, x: int) -> None:
    """The need waits for the transfer."""
    first = s.sent[x, FIRST]
    if first >= 0:
        s.need[first, BEFORE] = need
    s.need[need, TRANSFER], s.need[need, NEXT], s.need[need, BEFORE] = x, first, -1
    s.sent[x, FIRST] = need


@inlined
def wait_no_more(s: State, need: int) -> int:
    """The need waits for nothing; the unit whose it is."""
    x, after, before = s.need[need, TRANSFER], s.need[need, NEXT], s.need[need, BEFORE]
    if after >= 0:
        s.need[after, BEFORE] = before
    if before >= 0:
        s.need[before, NEXT] = after
    else:
        s.sent[x, FIRST] = after
    s.need[need, TRANSFER] = -1
    return int(s.need[need, NEEDED_BY])


@inlined
def _slot(s: State, unit: int, worker: int) -> int:
    """Where in the table the transfer is, or would be."""
    last = len(s.table) - 1
    slot = ((unit * (len(s.root) - 2) + worker) * SPREADS >> 15) & last
    while True:
        x = s.table[slot]
        if x < 0 or (s.sent[x, UNIT] == unit and s.sent[x, DESTINATION] == worker):
            return slot
        slot = (slot + 1) & last
