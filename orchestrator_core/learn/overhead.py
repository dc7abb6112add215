"""The part of a duration that no worker makes shorter: start-up, bookkeeping, calls to a server.

A task that sleeps one second on a worker of speed 1 and is reported with 1.03 s does not take
0.26 s on a worker of speed 4. One constant is estimated for all kinds together, since a single kind
tells little about it; a kind has less where one of its tasks was shorter than that. Tasks of hardly
any work show it as it is: where many were shorter than it is said to be, it is less. Without that,
work that differs much from task to task passes for overhead.

Where it was measured (`measured_overhead.py`), nothing is estimated.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.learn.columns import Columns
from orchestrator_core.learn.robust import HUBER
from orchestrator_core.learn.solver import solve

CANDIDATES = (0.0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.055, 0.075, 0.1, 0.15, 0.2)
"""Seconds that are tried."""

USUAL = 0.03
"""Mean in seconds of the exponential prior: what an orchestrated task costs on an idle machine."""

ENOUGH = 4_000
"""Observations that are looked at; more would change little."""

SPREAD = 0.35
"""Standard deviation of the logarithm of the overhead, from task to task."""

_PART = 0.9
"""An overhead is at most this part of the shortest duration of its kind."""


def overheads(columns: Columns, prior: Floats) -> Floats:
    """(kinds,) seconds, for observations whose overhead nobody measured: the mean of the
    candidates, each as likely as the observations make it.

    Pairs of kind and worker kind are left out of the model here, and the noise is the same for
    all candidates: else either could explain what the overhead should.
    """
    if not np.isnan(columns.overhead).any():
        return np.zeros(len(columns.kinds))
    some = columns.thinned(ENOUGH)
    noise = solve(some, overheads_of(some, USUAL), prior, interaction=0.0).noise
    surprises = [
        solve(some, overheads_of(some, seconds), prior, interaction=0.0, noise=noise).surprise
        + seconds / USUAL
        + _too_short(some.seconds[np.isnan(some.overhead)], seconds)
        for seconds in CANDIDATES
    ]
    likely = np.exp(min(surprises) - np.array(surprises)) * np.gradient(CANDIDATES)
    return overheads_of(columns, float(likely @ CANDIDATES / likely.sum()))


def _too_short(durations: Floats, overhead: float) -> float:
    """Minus the log likelihood of the durations below it; of one far below, no more than of some
    that are near (Huber's loss)."""
    if overhead <= 0:
        return 0.0
    below = np.maximum(np.log(overhead / durations), 0.0) / SPREAD
    near = np.minimum(below, HUBER)
    return float((near * (below - near / 2)).sum())


def overheads_of(columns: Columns, seconds: float) -> Floats:
    """(kinds,) the overhead of each kind if it is `seconds` where the durations allow it."""
    shortest = np.full(len(columns.kinds), np.inf)
    np.minimum.at(shortest, columns.kind, columns.seconds)
    return np.minimum(seconds, _PART * shortest)
