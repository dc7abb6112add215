"""What is to be repeated: flows as they are, or in slots of servers (stage 3, real time)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from orchestrator_core.graph.text import shown
from orchestrator_core.plan.realtime.admission import Refused
from orchestrator_core.plan.realtime.flows import Flow, PeriodicFlow
from orchestrator_core.plan.realtime.server import first_deadline, server_of
from orchestrator_core.plan.realtime.unroll import hyperperiod

LARGEST = 5_000
"""Most task instances in a hyperperiod that is planned as it is."""

MOST_SLOTS = 50_000
"""Most task instances where flows are served: to look at so many takes a second."""


class Repeated(NamedTuple):
    """Flows and servers, the names of those that are served, and the hyperperiod in seconds."""

    flows: list[PeriodicFlow]
    served: tuple[str, ...]
    length: float


def repeated_of(flows: Sequence[Flow]) -> list[Repeated] | Refused:
    """What can be repeated, or why no slots can do.

    Where all else repeats sooner than what is served has to be, the last of two ways is a
    hyperperiod several times as long, in which slots are seldomer.
    """
    regular = [flow for flow in flows if isinstance(flow, PeriodicFlow)]
    length = _hyperperiod(regular) if regular else None
    if length is not None and size_of(regular, length) > LARGEST:
        regular, length = [], max(flow.period for flow in regular)
    served = [flow for flow in flows if flow not in regular]
    at_once = [flow.name for flow in served if first_deadline(flow) <= 0]
    if at_once:
        return Refused(
            f"{shown(at_once[0])} would run in slots, which it may have to wait for, and something "
            "of it is due at once",
            proven=False,
            flows=tuple(at_once),
        )
    seldom = max((server_of(flow, None).period for flow in served), default=0.0)
    first = _in_slots(regular, served, seldom if length is None else length)
    size = size_of(first.flows, first.length)
    if served and size > MOST_SLOTS:
        return _too_many(first, size)
    times = int(min(seldom / first.length + 1e-9, LARGEST / size))
    return [first, _in_slots(regular, served, times * first.length)] if times > 1 else [first]


def _in_slots(regular: Sequence[PeriodicFlow], served: Sequence[Flow], length: float) -> Repeated:
    servers = [server_of(flow, length) for flow in served]
    return Repeated([*regular, *servers], tuple(flow.name for flow in served), length)


def _too_many(repeated: Repeated, size: float) -> Refused:
    most = min((f for f in repeated.flows if f.name in repeated.served), key=lambda f: f.period)
    return Refused(
        f"it takes slots for {size:.3g} tasks, of which {MOST_SLOTS:,} are looked at: all together "
        f"repeat every {repeated.length:.6g} s, and {shown(most.name)} needs a slot every "
        f"{most.period:.4g} s. Give it a longer deadline, or admit the flows of long periods apart",
        proven=False,
        flows=(most.name,),
    )


def _hyperperiod(flows: Sequence[PeriodicFlow]) -> float:
    """In seconds; infinity where it is too long to be told."""
    try:
        return float(hyperperiod([flow.period for flow in flows]))
    except OverflowError:
        return math.inf


def size_of(flows: Sequence[PeriodicFlow], length: float) -> float:
    """Task instances in so many seconds."""
    return sum(flow.instance.graph.n_instances * length / flow.period for flow in flows)
