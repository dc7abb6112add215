"""Leaf: a case of an argument, and what is known in it (stage 3)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from orchestrator_core.plan.bounds.certificate import Case, Packing, Refutation, Step
from orchestrator_core.plan.bounds.raising import sum_of
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import DIGITS, ROUNDING, State
from orchestrator_core.plan.bounds.windows import ROUNDS, Claims, fit

STRICTLY = 1e-7
"""Relative: by so much more than a guess must be proven."""


@dataclass(slots=True)
class Leaf:
    """A case, and what is known in it.

    Attributes:
        value: seconds that no schedule of the case is shorter than.
        state: None once it is settled or has cases of its own.
        claims: of the latest window program. sums: the claims by which programs raised the value.
        packing: why whole tasks do not fit within the largest limit for which that is known.
        refutation: why nothing is shorter than the largest limit that was refuted.
        task, cases: the task on which its cases depend, and they by worker.
        looks: how many kinds of the tree's dear looks were taken at it.
        fits: the least limit within which whole tasks were not shown not to fit.
    """

    value: float
    state: State | None
    claims: Claims | None = None
    sums: list[Claims] = field(default_factory=list)
    packing: Packing | None = None
    refutation: Refutation | None = None
    steps: list[Step] = field(default_factory=list)
    task: int = -1
    cases: dict[int, Leaf] = field(default_factory=dict)
    looks: int = 0
    fits: float = np.inf

    def take(self, claims: Claims, upper: float) -> bool:
        """Take over what claims prove, if it is news; a guess must be exceeded to prove it."""
        value = min(upper, claims.bound * (1 - DIGITS))
        guessed = claims.rounded or claims.known > self.value
        if value <= self.value or (guessed and value <= claims.known * (1 + STRICTLY)):
            return False
        self.value, self.claims = value, claims
        self.sums.append(claims._replace(split=claims.split[:0]))
        return True

    def as_case(self, whole: bool = True) -> Case:
        """As plain data; with its cases, if `whole`."""
        cases = self.cases if whole else {}
        return Case(
            tuple(self.steps),
            tuple(sum_of(claims) for claims in self.sums),
            self.packing,
            self.refutation,
            self.task if cases else -1,
            tuple(cases),
            tuple(case.as_case() for case in cases.values()),
        )


def settle(
    relaxation: Relaxation, leaf: Leaf, accuracy: float = 1e-4, rounds: int = ROUNDS
) -> None:
    """Raise a leaf's value by paths and windows; those are sought in so many rounds at most."""
    state = leaf.state
    assert state is not None
    leaf.value = max(leaf.value, state.lower_bound(relaxation))
    if leaf.value >= state.upper * (1 - ROUNDING) or leaf.value <= 0:
        return
    tasks = np.arange(len(state.may))
    found = fit(relaxation, state, tasks, leaf.value, state.upper, leaf.claims, accuracy, rounds)
    if not leaf.take(found, state.upper) and leaf.claims is None:
        leaf.claims = found
