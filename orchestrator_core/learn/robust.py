"""Robust statistics of groups, vectorised: medians, spreads, weights that doubt outliers."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints

NORMAL = 1.4826
"""Median absolute deviation to standard deviation, for normal errors."""

HUBER = 1.5
"""Residuals beyond this many standard deviations count less, in proportion."""


def group_sums(values: Floats, group: Ints, n_groups: int) -> Floats:
    """(n_groups,) the sum of each group's values."""
    return np.bincount(group, values, n_groups).astype(np.float64)


def group_medians(values: Floats, group: Ints, n_groups: int) -> Floats:
    """(n_groups,) the median of each group's values; NaN for a group without any."""
    if (group[1:] < group[:-1]).any():
        values = values[np.argsort(group, kind="stable")]
    sizes = np.bincount(group, minlength=n_groups)
    first = np.cumsum(sizes) - sizes
    medians = np.full(n_groups, np.nan)
    # Groups of one size are a table; sizes are few where groups are many.
    for size in np.unique(sizes[sizes > 0]).tolist():
        alike = np.flatnonzero(sizes == size)
        ranked = np.sort(values[first[alike][:, None] + np.arange(size)], axis=1)
        medians[alike] = (ranked[:, (size - 1) // 2] + ranked[:, size // 2]) / 2
    return medians


def huber_weights(scaled: Floats) -> Floats:
    """1 for residuals (in standard deviations) that are ordinary, less for outliers."""
    return HUBER / np.maximum(np.abs(scaled), HUBER)
