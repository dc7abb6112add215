"""Refuter: which limits are tried, and for how long (stage 3).

What a limit costs grows fast with it. So it is first tried to refute one halfway between what is
proven and the makespan that is to be beaten, then ones nearer to what is proven; if nothing comes
of those either, more patience is had with all of them. What was learnt about decisions stays.
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

QUICK = 0.25
"""Part of the patience within which an attempt is easy, so that the next one goes twice as far."""

AT_ONCE = 20_000
"""Nodes x tasks x workers between two looks at the clock."""


class Found(NamedTuple):
    """What a few nodes gave: a limit that is refuted, or a worker and start for each task."""

    refutation: Refutation | None = None
    placed: tuple[Ints, Floats] | None = None


class Refuter:
    """One attempt after the other.

    Attributes:
        nodes: how many were looked at.
    """

    def __init__(self, instance: Instance, problem: Problem, relaxation: Relaxation) -> None:
        self._relaxation = relaxation
        self._terms = terms_of(relaxation, never_at_once(instance, problem))
        self._credit = first_credit(relaxation)
        self._attempt: Attempt | None = None
        self._part, self._patience, self.nodes = PART, PATIENCE, 0
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
            before = attempt.nodes
            attempt.go_on(self._step)
            self.nodes += attempt.nodes - before
        if attempt.status == REFUTED:
            return self._succeed(attempt)
        if attempt.status == GOES_ON and attempt.nodes < self._patience:
            return Found()
        self._attempt = None
        self._fail()
        return Found(placed=attempt.placed() if attempt.status == DECIDED else None)

    def _succeed(self, attempt: Attempt) -> Found:
        self._attempt = None
        if attempt.nodes < QUICK * self._patience:
            self._part = min(1.0, 2 * self._part)
        return Found(attempt.refutation())

    def _fail(self) -> None:
        self._part /= 2
        if self._part < LEAST_PART:
            self._part, self._patience = PART, 2 * self._patience
