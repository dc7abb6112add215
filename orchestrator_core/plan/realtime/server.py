"""Servers: slots that are reserved at a fixed period for what arrives at any time (real time).

A slot is a release of the flow's graph at the server's period. What arrives before the first task
of a slot starts is served by it; what arrives just after it waits for the next slot (a polling
server; Lehoczky, Sha and Strosnider 1987). So a server of period P whose slots last R at most gives
a response time of P + R at most, and any flow with a deadline of at least that may use it.
"""

from __future__ import annotations

import math

import numpy as np

from orchestrator_core.plan.realtime.flows import Flow, PeriodicFlow, SporadicFlow
from orchestrator_core.plan.realtime.unroll import Release
from orchestrator_core.plan.schedule import Schedule


def server_of(flow: Flow, length: float | None) -> PeriodicFlow:
    """A server for the flow, with the longest period that leaves its slots half of the deadline.

    Args:
        length: seconds of which the server's period shall be a whole part, or None.
    """
    gap, deadline = _gap(flow), _deadline(flow)
    period = min(gap, deadline / 2)
    if length is not None:
        period = length / math.ceil(length / period - 1e-9)
    return PeriodicFlow(flow.name, flow.instance, period, deadline - period)


def response(schedule: Schedule, slots: list[Release], length: float, served: bool) -> float:
    """The longest time from a release, or an arrival if the flow is served, to its last end."""
    starts, ends = _extent(schedule, slots)
    if not served:
        return float((ends - np.array([slot.at for slot in slots])).max())
    following = np.append(ends[1:], ends[0] + length)
    return float((following - starts).max())


def _extent(schedule: Schedule, slots: list[Release]) -> tuple[np.ndarray, np.ndarray]:
    """The first start and the last end of the tasks of each slot."""
    of_name = {name: i for i, name in enumerate(schedule.task_names)}
    slot_of = np.full(len(of_name), -1)
    for number, slot in enumerate(slots):
        for name in slot.flow.instance.graph.names:
            slot_of[of_name[slot.task_name(name)]] = number
    row = slot_of[schedule.task]
    mine = row >= 0
    starts, ends = np.full(len(slots), np.inf), np.zeros(len(slots))
    np.minimum.at(starts, row[mine], schedule.start[mine])
    np.maximum.at(ends, row[mine], schedule.end[mine])
    return starts, ends


def _gap(flow: Flow) -> float:
    return flow.gap if isinstance(flow, SporadicFlow) else flow.period


def _deadline(flow: Flow) -> float:
    return flow.deadline if isinstance(flow, SporadicFlow) else flow.relative_deadline
