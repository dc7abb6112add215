"""Whole ticks: where all times are multiples of one, so is the optimum (stage 3).

Of the shortest schedules, one starts every task, encoding and transfer at a moment when another
one ends or arrives, or at a release (a semi-active schedule): all its times are sums of durations
and delays, so that a bound may be rounded up to the next multiple of their unit.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.unit import common_unit

MOST = 20_000
"""Most different times that are looked at, and most (transfers x pairs of workers)."""

NOISE = 1e-9
"""Relative difference by which a bound may be above a tick and still mean it."""


def unit_of(instance: Instance) -> Fraction | None:
    """Seconds of which every makespan worth having is a multiple, or None if there is no unit."""
    if any(instance.graph.checkpoint_sets):
        return None  # pieces of tasks are times too
    try:
        problem = expand(instance)
    except UnsupportedInstance:
        return None
    times = _times(problem)
    return None if times is None or len(times) > MOST else common_unit(times)


def _times(problem: Problem) -> Floats | None:
    """All durations, delays and releases above zero, each once; None if there are too many."""
    delays = _delays(problem)
    if delays is None:
        return None
    seconds = problem.seconds[np.isfinite(problem.seconds)]
    times = np.unique(np.concatenate([seconds, problem.release, delays]))
    return np.asarray(times[times > 0], dtype=np.float64)


def _delays(problem: Problem) -> Floats | None:
    """Transfers and encodings between all pairs of workers."""
    away = ~np.eye(problem.n_workers, dtype=np.bool_)
    rates = [problem.latency[away], problem.per_byte[away], problem.encode[away]]
    parts = np.unique(problem.in_bytes)
    outputs = np.unique(problem.output_bytes[np.diff(problem.out_ptr) > 0])
    if not any(rate.any() for rate in rates):
        return np.zeros(0)
    if (len(parts) + len(outputs)) * len(rates[0]) > MOST:
        return None
    sizes = np.union1d(parts, outputs)
    ways = rates[0] + np.outer(sizes, rates[1])
    return np.concatenate([ways.ravel(), np.outer(outputs, rates[2]).ravel()])


def rounded_up(seconds: float, unit: Fraction | None) -> float:
    """The bound, or the next multiple of the unit above it."""
    if unit is None or not 0 < seconds < math.inf:
        return seconds
    ticks = math.ceil(seconds / float(unit) * (1.0 - NOISE))
    return max(seconds, float(unit * ticks))
