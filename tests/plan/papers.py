"""The worked examples of papers, with the values that they print."""

from __future__ import annotations

from orchestrator_core.costs.instance import Instance

TOPCUOGLU_SECONDS = [
    [14, 16, 9],
    [13, 19, 18],
    [11, 13, 19],
    [13, 8, 17],
    [12, 13, 10],
    [13, 16, 9],
    [7, 15, 11],
    [5, 11, 14],
    [18, 12, 20],
    [21, 7, 16],
]
"""Table 1 of Topcuoglu, Hariri and Wu (2002): tasks x processors."""

TOPCUOGLU_EDGES = [
    (0, 1, 18),
    (0, 2, 12),
    (0, 3, 9),
    (0, 4, 11),
    (0, 5, 14),
    (1, 7, 19),
    (1, 8, 16),
    (2, 6, 23),
    (3, 7, 27),
    (3, 8, 23),
    (4, 8, 13),
    (5, 7, 15),
    (6, 9, 17),
    (7, 9, 11),
    (8, 9, 13),
]
"""Figure 2 of the same paper: producer, consumer, communication."""

TOPCUOGLU_RANKS = [108.0, 77.0, 80.0, 80.0, 69.0, 63.333, 42.667, 35.667, 44.333, 14.667]
"""Table 2 of the same paper, upward ranks."""


def topcuoglu() -> Instance:
    """The example on which HEFT's schedule is 80 long and CPoP's 86."""
    return Instance.from_arrays(TOPCUOGLU_SECONDS, TOPCUOGLU_EDGES, seconds_per_byte=1.0)
