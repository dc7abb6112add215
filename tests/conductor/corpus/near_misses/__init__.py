"""What looks like attention and is not, or meets numbers that break a careless rewrite."""

from __future__ import annotations

from tests.conductor.corpus.near_misses.keys import KEYS
from tests.conductor.corpus.near_misses.masks import MASKS
from tests.conductor.corpus.near_misses.monoids import MONOIDS
from tests.conductor.corpus.near_misses.numbers import EDGES, POISONED
from tests.conductor.corpus.near_misses.rows import ROWS
from tests.conductor.corpus.near_misses.rules import RULES
from tests.conductor.corpus.near_misses.sums import SUMS
from tests.conductor.corpus.near_misses.types import TYPES
from tests.conductor.corpus.near_misses.uses import USES
from tests.conductor.corpus.near_misses.weights import WEIGHTS

NEAR_MISSES = [
    *(*SUMS, *WEIGHTS, *USES, *KEYS, *ROWS, *RULES, *TYPES, *POISONED, *EDGES),
    *(*MASKS, *MONOIDS),
]

__all__ = ["NEAR_MISSES"]
