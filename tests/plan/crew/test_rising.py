"""A phase of the helper goes on while what is proven rises; told by a clock of its own."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.crew import answering
from orchestrator_core.plan.crew.agenda import Phase
from orchestrator_core.plan.crew.messages import Ask
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal
from tests.plan.papers import topcuoglu

STEP = 0.01
"""Parts of the time that each step of a planner takes."""


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@dataclass(frozen=True)
class Stepper:
    """Takes a hundredth of the time for a step, and proves more in each up to `rises` of them."""

    name: str
    clock: Clock
    rises: int = 0
    by: float = 0.01
    steps: list[float] = field(default_factory=list)
    lane: ClassVar[Lane] = Lane.HELPER

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        return None

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        bound = 10.0
        while True:
            self.clock.now += STEP
            self.steps.append(self.clock.now)
            if len(self.steps) <= self.rises:
                bound *= 1 + self.by
            yield Proposal(lower_bound=bound)


def alone_until(monkeypatch: pytest.MonkeyPatch, rises: int, by: float = 0.01) -> float:
    """How long the first planner has the helper for itself, in parts of the time."""
    clock = Clock()
    monkeypatch.setattr(answering, "time", clock)
    first, second = Stepper("first", clock, rises, by), Stepper("second", clock)
    agenda = (Phase(((first, 1.0),), until=0.1, rising=0.4), Phase(((second, 1.0),)))
    budget = Budget(seconds=1.0)
    ask = Ask(1, 1.0, topcuoglu(), budget, MAKESPAN, None, 10.0, agenda)
    said: list[Any] = []
    answering.answer(ask, queue.SimpleQueue(), said.append)
    assert second.steps[-1] >= 1.0
    return first.steps[-1]


def test_it_ends_in_time_if_nothing_rises(monkeypatch: pytest.MonkeyPatch) -> None:
    assert alone_until(monkeypatch, rises=0) == pytest.approx(0.10, abs=1.5 * STEP)
    assert alone_until(monkeypatch, rises=5) == pytest.approx(0.10, abs=1.5 * STEP)


def test_it_goes_on_while_the_bound_rises(monkeypatch: pytest.MonkeyPatch) -> None:
    assert alone_until(monkeypatch, rises=20) == pytest.approx(0.25, abs=1.5 * STEP)


def test_it_does_not_go_on_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    assert alone_until(monkeypatch, rises=100) == pytest.approx(0.40, abs=1.5 * STEP)


def test_a_little_at_a_time_counts_when_it_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # A rise of 0.05 % each step comes to 0.2 % within five steps, one of 0.02 % does not.
    assert alone_until(monkeypatch, rises=100, by=5e-4) == pytest.approx(0.40, abs=1.5 * STEP)
    assert alone_until(monkeypatch, rises=100, by=2e-4) < 0.2
