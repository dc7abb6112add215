"""Servers: slots that are reserved at a fixed period for what arrives at any time (real time).

A slot is a release of the flow's graph at the server's period. What arrives in time for the first
task of a slot is served by it: before that starts, and as long before as the task's own release
asks for. What arrives just after that waits for the next slot (a polling server; Lehoczky, Sha and
Strosnider 1987), for a period P at most. So a server whose slots last R at most gives a response
time of P + R at most; the deadlines of the flow and of its tasks are kept if the slots keep them
less P.
"""

from __future__ import annotations

import math

import numpy as np

from orchestrator_core.plan.realtime.flows import Flow, Server, SporadicFlow
from orchestrator_core.plan.realtime.unroll import Release
from orchestrator_core.plan.schedule import Schedule


def server_of(flow: Flow, length: float | None) -> Server:
    """A server for the flow, with the longest period that leaves its slots half of the deadline,
    also of the first of those of its tasks.

    Args:
        length: seconds of which the server's period shall be a whole part, or None.
    """
    gap, deadline = _gap(flow), _deadline(flow)
    first = float(flow.instance.graph.deadline.min())
    period = min(gap, min(deadline, first) / 2)
    if length is not None:
        period = length / math.ceil(length / period - 1e-9)
    return Server(flow.name, flow.instance, period, deadline - period)


def response(schedule: Schedule, slots: list[Release], length: float, served: bool) -> float:
    """The longest time from a release, or an arrival if the flow is served, to its last end."""
    polled, ends = _extent(schedule, slots)
    if not served:
        return float((ends - np.array([slot.at for slot in slots])).max())
    following = np.append(ends[1:], ends[0] + length)
    return float((following - polled).max())


def _extent(schedule: Schedule, slots: list[Release]) -> tuple[np.ndarray, np.ndarray]:
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


def _gap(flow: Flow) -> float:
    return flow.gap if isinstance(flow, SporadicFlow) else flow.period


def _deadline(flow: Flow) -> float:
    return flow.deadline if isinstance(flow, SporadicFlow) else flow.relative_deadline
