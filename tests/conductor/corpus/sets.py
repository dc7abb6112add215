"""All cases, in sets, and under which transforms each set is tried as a whole."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass

from tests.conductor.corpus.attention import PAIRED, SPELLINGS
from tests.conductor.corpus.case import Case
from tests.conductor.corpus.models import MODELS, TRAIN_STEPS
from tests.conductor.corpus.near_misses import NEAR_MISSES
from tests.conductor.corpus.pairwise import PAIRWISE
from tests.conductor.corpus.running import RUNNING
from tests.conductor.corpus.stock import STOCK
from tests.conductor.corpus.transforms import TRANSFORMS


@dataclass(frozen=True)
class CaseSet:
    """Cases, and the names of transforms that are tried on each."""

    cases: Sequence[Case]
    transforms: tuple[str, ...]

    @property
    def possible(self) -> list[Case]:
        """Those whose packages are installed."""
        return [case for case in self.cases if all(map(importlib.util.find_spec, case.needs))]


BOTH = ("forward", "gradient_inside")

SETS = {
    "attention": CaseSet(SPELLINGS, tuple(TRANSFORMS)),
    "attention, paired": CaseSet(PAIRED, BOTH),
    "pairwise": CaseSet(PAIRWISE, (*BOTH, "gradient_outside", "batched_inside")),
    "running sums": CaseSet(RUNNING, (*BOTH, "gradient_outside", "batched_inside")),
    "models": CaseSet(MODELS, (*BOTH, "gradient_outside", "batched_inside")),
    "recurrent modules": CaseSet(STOCK, BOTH),
    "train steps": CaseSet(TRAIN_STEPS, ("forward",)),
    "near-misses": CaseSet(NEAR_MISSES, BOTH),
}
