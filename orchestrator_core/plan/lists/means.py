"""What a task and a transfer take on average, when it is not yet known where they will be."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import best_seconds, over_modes


def mean_seconds(problem: Problem) -> Floats:
    """(n,) mean duration over the modes and workers that the task may have."""
    eligible = np.isfinite(problem.seconds)
    total = np.sum(problem.seconds, axis=1, where=eligible)
    number = over_modes(problem, np.add, eligible.sum(axis=1))
    return np.asarray(over_modes(problem, np.add, total) / number, dtype=np.float64)


def harmonic_seconds(problem: Problem) -> Floats:
    """(n,) the duration at the mean speed of the workers that may have the task."""
    seconds = best_seconds(problem)
    eligible = np.isfinite(seconds)
    speed = np.sum(1.0 / np.maximum(seconds, 1e-300), axis=1, where=eligible)
    return np.asarray(eligible.sum(axis=1) / np.maximum(speed, 1e-300), dtype=np.float64)


def longest_seconds(problem: Problem) -> Floats:
    """(n,) the longest of the durations on each worker in the fastest mode."""
    seconds = best_seconds(problem)
    return np.asarray(np.max(seconds, axis=1, where=np.isfinite(seconds), initial=0.0))


def deviation_of_seconds(problem: Problem) -> Floats:
    """(n,) standard deviation of the durations over the workers, in the fastest mode."""
    seconds = best_seconds(problem)
    eligible = np.isfinite(seconds)
    mean = np.mean(seconds, axis=1, where=eligible, keepdims=True)
    square = np.where(eligible, seconds - mean, 0.0) ** 2
    return np.asarray(np.sqrt(square.sum(axis=1) / eligible.sum(axis=1)), dtype=np.float64)


def mean_link(problem: Problem) -> tuple[float, float]:
    """(latency, seconds per byte) of a transfer, as means over all pairs of workers."""
    w = problem.n_workers
    pairs = max(1, w * (w - 1))
    per_byte = problem.per_byte.sum() + problem.encode.sum()
    return float(problem.latency.sum()) / pairs, float(per_byte) / pairs


def near_link(problem: Problem) -> tuple[float, float]:
    """As `mean_link`, over pairs in any order, of which those within a worker take no time."""
    w = problem.n_workers
    part = (w - 1) / (w + 1)
    latency, per_byte = mean_link(problem)
    return part * latency, part * per_byte


def deviation_of_link(problem: Problem) -> tuple[float, float]:
    """Standard deviations of (latency, seconds per byte), over pairs of workers and within them."""
    per_byte = problem.per_byte + problem.encode
    return float(np.std(problem.latency)), float(np.std(per_byte))


def without_noise(values: Floats) -> Floats:
    """Rounded to twelve digits of the largest, so that ties are ties and not rounding errors."""
    largest = float(np.abs(values).max(initial=0.0))
    return np.round(values / largest, 12) if largest > 0 else values
