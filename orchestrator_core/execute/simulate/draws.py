"""Draws: durations as they may come, as widely as those of earlier runs were spread."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats

WIDEST = 1.0
"""Standard deviation of the logarithm of a duration, at most: what is known less well is not known
well enough for a mean over draws to tell anything."""

DEVIATIONS_TO_P90 = 1.2816
"""Standard deviations between the median and the 0.9 quantile of a normal distribution."""


def draws(
    instance: Instance, pessimistic: Instance, number: int, *, seed: int = 0, least: float = 0.0
) -> list[Floats]:
    """`number` tables of (modes, workers) seconds; without any spread a single one.

    A task that takes longer does so on all workers alike.

    Args:
        instance: with expected durations. pessimistic: with the 0.9 quantiles.
        least: standard deviation of the logarithm of a duration that is drawn at least.
    """
    generator = np.random.default_rng(seed)
    spread = np.maximum(_log_spread(instance, pessimistic), least)
    if not spread.any():
        return [instance.seconds]
    shape = len(spread), 1
    return [
        instance.seconds * np.exp(spread * generator.standard_normal(shape)) for _ in range(number)
    ]


def _log_spread(instance: Instance, pessimistic: Instance) -> Floats:
    """(modes, workers) standard deviation of the logarithm of each duration."""
    may_run = instance.eligible & pessimistic.eligible & (instance.seconds > 0)
    ratio = np.ones_like(instance.seconds)
    np.divide(pessimistic.seconds, instance.seconds, out=ratio, where=may_run)
    spread: Floats = np.log(np.maximum(ratio, 1.0)) / DEVIATIONS_TO_P90
    return np.minimum(spread, WIDEST)
