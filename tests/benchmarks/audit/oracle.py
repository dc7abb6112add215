"""What the time-indexed program says of an instance, within a limit of time."""

from __future__ import annotations

import math

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance, UnsupportedInstance
from orchestrator_core.plan.cpsat.lengths import serial_seconds
from orchestrator_core.plan.time_indexed import optimal_value
from tests.benchmarks.audit.answer import Answer

LONGEST = 40
"""Ticks of the horizon beyond which it takes minutes."""

SECONDS = 20.0
"""For each criterion; beyond, it gives up."""


def horizon_of(instance: Instance, tick: float) -> int:
    """Ticks by which all tasks have ended in some optimal schedule, or in each."""
    last = min(serial_seconds(instance), float(instance.graph.deadline.max(initial=0.0)))
    return math.ceil(last / tick - 1e-9)


def within_reach(instance: Instance, tick: float) -> bool:
    return horizon_of(instance, tick) <= LONGEST


def on_its_way(instance: Instance, tick: float) -> int:
    """Ticks by which a transfer of which a part was waited for may outlast the last task."""
    largest = float(instance.graph.output_bytes.max(initial=0.0))
    return math.ceil(largest * float(instance.cluster.seconds_per_byte.max()) / tick - 1e-9)


def answer_of(
    instance: Instance, objective: str, tick: float, makespan: float = math.inf
) -> Answer:
    """The optimum; `makespan`: of a schedule that is known, where it comes first."""
    horizon = horizon_of(instance, tick)
    if objective.startswith("makespan") and makespan < math.inf:
        horizon = min(horizon, round(makespan / tick) + 1)
    if "price" in objective.split(","):
        horizon += on_its_way(instance, tick)
    try:
        found = optimal_value(instance, objective, tick, horizon, seconds=SECONDS)
    except InfeasibleInstance:
        return Answer(())
    except UnsupportedInstance:
        return Answer(None)
    return Answer(found.value, found.schedule)
