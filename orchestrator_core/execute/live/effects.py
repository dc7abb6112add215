"""Effects: how much of some deviations is due to the kind of a task, to its worker, and to chance.

A model of two crossed random effects, ``deviation = worker + kind + chance``, each normal around 0
(Laird and Ware, "Random-effects models for longitudinal data", Biometrics 38, 1982). How large the
three usually are is estimated along, from a weak belief: tasks of a worker that agree with each
other are trusted soon, scattered ones late. A few rounds of the EM algorithm, the effects taken for
independent of each other given the deviations, each O(n). Not until nothing changes any more: of
few deviations it would then make all chance, or none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints

ROUNDS, SWEEPS = 3, 3
"""Times that the variances are estimated, and the effects with each of them."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What is thought of a variance before anything is seen, and as how many observations that
    counts."""

    variance: float
    weight: float

    def after(self, squares: Floats) -> float:
        """The variance, given the expected squares of what it is the variance of."""
        total = self.weight * self.variance + float(squares.sum())
        return total / (self.weight + len(squares))


CHANCE, WORKER, KIND = Belief(0.25**2, 3.0), Belief(0.2**2, 1.0), Belief(0.1**2, 1.0)
"""A task by itself is off by 25 %, a worker by 20 %, a kind of tasks by 10 %, or so."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One of the two effects.

    Attributes:
        of: (n,) the place of each deviation's value among the m values.
        number: (m,) how many deviations tell of each value. variance: of the values.
        values: (m,) their means.
    """

    belief: Belief
    of: Ints
    number: Floats
    variance: float
    values: Floats

    @staticmethod
    def unknown(of: Ints, belief: Belief) -> Effect:
        """Before anything is seen."""
        number = np.bincount(of).astype(np.float64)
        return Effect(belief, of, number, belief.variance, np.zeros(len(number)))

    @property
    def each(self) -> Floats:
        """(n,) the value of each deviation."""
        return self.values[self.of]

    def given(self, left: Floats, chance: float) -> Effect:
        """With the values that fit (n,) what the other effect leaves of the deviations."""
        total = np.bincount(self.of, left, len(self.number))
        return replace(self, values=total / (self.number + chance / self.variance))

    def doubt(self, chance: float) -> Floats:
        """(m,) variances of the values that `given` has found."""
        return chance / (self.number + chance / self.variance)

    def anew(self, chance: float) -> Effect:
        """With the variance that these values tell of."""
        return replace(self, variance=self.belief.after(self.values**2 + self.doubt(chance)))


def effects(deviations: Floats, worker: Ints, kind: Ints) -> tuple[Floats, Floats]:
    """The effects of workers and of kinds, in the unit of the deviations.

    Args:
        deviations: (n,) logarithms of actual over believed durations.
        worker, kind: (n,) of each task, from 0 without gaps.
    """
    workers, kinds = Effect.unknown(worker, WORKER), Effect.unknown(kind, KIND)
    chance = CHANCE.variance
    for number in range(ROUNDS):
        if number:
            squares = (deviations - workers.each - kinds.each) ** 2
            squares += workers.doubt(chance)[worker] + kinds.doubt(chance)[kind]
            workers, kinds = workers.anew(chance), kinds.anew(chance)
            chance = CHANCE.after(squares)
        for _ in range(SWEEPS):
            workers = workers.given(deviations - kinds.each, chance)
            kinds = kinds.given(deviations - workers.each, chance)
    return workers.values, kinds.values
