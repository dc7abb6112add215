"""Servers: slots that are reserved at a fixed period for what arrives at any time (real time).

A slot is a release of the flow's graph at the server's period. What arrives in time for the first
task of a slot is served by it: before that starts, and as long before as the task's own release
asks for. What arrives just after that waits for the next slot (a polling server; Lehoczky, Sha and
Strosnider 1987), and so does what finds the slot taken by an earlier arrival. No two arrivals come
within a period P, so each has a slot that is released within P of it. A server whose slots end R
after their releases at most thus gives a response time of P + R at most; the deadlines of the flow
and of its tasks are kept if the slots keep them less P.
"""

from __future__ import annotations

import math

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.realtime.flows import Flow, Server, SporadicFlow
from orchestrator_core.plan.realtime.unroll import Release
from orchestrator_core.plan.schedule import Schedule


def server_of(flow: Flow, length: float | None) -> Server:
    """A server for the flow, with the longest period that leaves its slots half of the deadline,
    also of the first of those of its tasks.

    Args:
        length: seconds of which the server's period shall be a whole part, or None.
    """
    gap, deadline = gap_of(flow), _deadline(flow)
    period = min(gap, first_deadline(flow) / 2)
    if length is not None:
        period = length / math.ceil(length / period - 1e-9)
    return Server(flow.name, flow.instance, period, deadline - period)


def response(schedule: Schedule, slots: list[Release], length: float, gap: float | None) -> float:
    """The longest time from a release, or an arrival if the flow is served, to its last end.

    Args:
        slots: by their releases, all of those that repeat every `length` seconds.
        gap: seconds between two arrivals at least; None if the flow is not served.
    """
    polled, ends = _extent(schedule, slots)
    if gap is None:
        return float((ends - np.array([slot.at for slot in slots])).max())
    # What a slot serves has missed the one before, or found it taken. The round before is looked
    # at, too, since what waits may push others on; further back nothing is left over.
    before, worst, since = math.inf, 0.0, math.inf
    for until, end in zip(_twice(polled, length), _twice(ends, length), strict=True):
        since = min(before, since + gap)
        worst = max(worst, end - since)
        before = until
    return worst


def _twice(moments: Floats, length: float) -> list[float]:
    """The moments of the round before, and those of this one."""
    return [*(moments - length).tolist(), *moments.tolist()]


def _extent(schedule: Schedule, slots: list[Release]) -> tuple[Floats, Floats]:
    """Until when each slot serves what arrives, and the last end of its tasks."""
    of_name = {name: i for i, name in enumerate(schedule.task_names)}
    slot_of, release = np.full(len(of_name), -1), np.zeros(len(of_name))
    for number, slot in enumerate(slots):
        graph = slot.flow.instance.graph
        for name, after in zip(graph.names, graph.release.tolist(), strict=True):
            slot_of[of_name[slot.task_name(name)]] = number
            release[of_name[slot.task_name(name)]] = after
    row = slot_of[schedule.task]
    mine = row >= 0
    polled, ends = np.full(len(slots), np.inf), np.zeros(len(slots))
    np.minimum.at(polled, row[mine], (schedule.start - release[schedule.task])[mine])
    np.maximum.at(ends, row[mine], schedule.end[mine])
    return polled, ends


def gap_of(flow: Flow) -> float:
    """Seconds between two releases, or two arrivals, at least."""
    return flow.gap if isinstance(flow, SporadicFlow) else flow.period


def first_deadline(flow: Flow) -> float:
    """Seconds from an arrival to the first moment at which something of it is due."""
    return min(_deadline(flow), float(flow.instance.graph.deadline.min()))


def _deadline(flow: Flow) -> float:
    return flow.deadline if isinstance(flow, SporadicFlow) else flow.relative_deadline
