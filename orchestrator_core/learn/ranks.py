"""A test by ranks: are some values larger than others, whatever their distribution?

Values are compared within strata only. Wilcoxon, "Individual comparisons by ranking methods"
(1945); strata weighted as by van Elteren, "On the combination of independent two sample tests of
Wilcoxon" (1960).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.task_graph import Floats, Ints


def rank_score(values: Floats, stratum: Ints, ours: NDArray[np.bool_]) -> float:
    """About normal with deviation 1 where `ours` are like the others; > 0 where they are larger.

    0 where no stratum has both.
    """
    _, stratum = np.unique(stratum, return_inverse=True)
    size = np.bincount(stratum)
    rank = _ranks(values, stratum, size)
    score = (rank - (size[stratum] - 1) / 2) / (size[stratum] + 1)
    number = np.bincount(stratum, ours, len(size))
    square = np.bincount(stratum, score**2, len(size))
    variance = number * (size - number) / size * square / np.maximum(size - 1, 1)
    total = float(variance.sum())
    return float(score[ours].sum() / np.sqrt(total)) if total > 0 else 0.0


def _ranks(values: Floats, stratum: Ints, size: Ints) -> Floats:
    """(n,) ranks from 0 within the stratum; equal values share the mean of theirs."""
    order = np.lexsort((values, stratum))
    first = np.cumsum(size) - size
    place = np.arange(len(values)) - first[stratum[order]]
    differs = np.diff(values[order], prepend=np.nan) != 0
    tie = np.cumsum(differs | (place == 0)) - 1
    mean = np.bincount(tie, place) / np.bincount(tie)
    rank = np.empty(len(values))
    rank[order] = mean[tie]
    return rank
