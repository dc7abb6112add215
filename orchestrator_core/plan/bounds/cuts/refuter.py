"""Refuter: which limits are tried, and for how long (stage 3).

What a limit costs grows fast with it. So it is first tried to refute one halfway between what is
proven and the makespan that is to be beaten, then ones nearer to what is proven; if nothing comes
of those either, more patience is had with all of them. How far the next one goes, and how long it
may take, depends on how long the last one took. What was learnt about decisions stays.
"""

from __future__ import annotations

from typing import NamedTuple

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.certificate import Refutation
from orchestrator_core.plan.bounds.cuts.alone import never_at_once
from orchestrator_core.plan.bounds.cuts.attempt import Attempt, first_credit
from orchestrator_core.plan.bounds.cuts.descent import DECIDED, GOES_ON, REFUTED
from orchestrator_core.plan.bounds.cuts.node import terms_of
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import State
from orchestrator_core.plan.engine.expand import Problem

MOST_TASKS = 1_000
"""Of more, a node takes megabytes."""

PART, LEAST_PART = 0.5, 1 / 16
"""How far from what is proven to the makespan the first limit is, and the last that is tried before
there is more patience."""

PATIENCE = 300
"""Nodes of a first attempt."""

MORE_PATIENCE = 4
"""Times the nodes that the last limit took, at least."""

EASY, HARD = 2, 5
"""A limit that took so many times the nodes of the one before, or fewer: the next goes twice as
far; or more: half as far."""

EASIEST = 20
"""Nodes; fewer count as so many."""

AT_ONCE = 20_000
"""Nodes x tasks x workers between two looks at the clock."""


class Found(NamedTuple):
    """What a few nodes gave: a limit that is refuted, or a worker and start for each task."""

    refutation: Refutation | None = None
    placed: tuple[Ints, Floats] | None = None


class Refuter:
    """One attempt after the other."""

    def __init__(self, instance: Instance, problem: Problem, relaxation: Relaxation) -> None:
        self._relaxation = relaxation
        self._terms = terms_of(relaxation, never_at_once(instance, problem))
        self._credit = first_credit(relaxation)
        self._attempt: Attempt | None = None
        self._part, self._patience = PART, PATIENCE
        self._last = 0
        self._step = max(2, AT_ONCE // relaxation.seconds.size)

    def step(self, state: State, proven: float, upper: float) -> Found:
        """Look at a few nodes.

        Args:
            state: what is known. proven: seconds that no schedule is shorter than.
            upper: seconds of the schedule that is to be beaten.
        """
        attempt = self._attempt
        if attempt is None or not proven < attempt.limit <= upper:
            limit = upper if self._part == 1.0 else proven + self._part * (upper - proven)
            attempt = Attempt(self._relaxation, self._terms, state, limit, self._credit)
            self._attempt = attempt
        if attempt.status == GOES_ON:
            attempt.go_on(self._step)
        if attempt.status == REFUTED:
            return self._succeed(attempt)
        if attempt.status == GOES_ON and attempt.nodes < self._patience:
            return Found()
        self._attempt = None
        self._fail()
        return Found(placed=attempt.placed() if attempt.status == DECIDED else None)

    def _succeed(self, attempt: Attempt) -> Found:
        self._attempt, before, self._last = None, self._last, attempt.nodes
        if self._last <= EASY * max(before, EASIEST):
            self._part = min(1.0, 2 * self._part)
        elif self._last > HARD * before:
            self._part = max(LEAST_PART, self._part / 2)
        self._patience = max(self._patience, MORE_PATIENCE * self._last)
        return Found(attempt.refutation())

    def _fail(self) -> None:
        self._part /= 2
        if self._part < LEAST_PART:
            self._part, self._patience = PART, 2 * self._patience
