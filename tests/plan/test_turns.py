"""Turns: fair by time, and one that breaks leaves the others alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan import turns
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.turns import Turn, take_turns
from tests.plan.papers import topcuoglu


class Clock:
    """A clock that planners move."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@dataclass
class Worker:
    """Takes `each` seconds for each of `steps` proposals."""

    clock: Clock
    name: str
    each: float
    steps: int
    lane: ClassVar[Lane] = Lane.SEARCH

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        return None

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        for step in range(self.steps):
            self.clock.now += self.each
            yield Proposal(note=f"{step}")
        if self.name == "broken":
            raise ValueError("by design")


def order_of(monkeypatch, *planners: tuple[str, float, int, float]) -> list[str]:
    """Who spoke, step by step; a name in capitals for an end."""
    clock = Clock()
    monkeypatch.setattr(turns, "time", clock)
    brief = Brief(topcuoglu())
    started = [
        Turn(Worker(clock, name, each, steps), brief, share)
        for name, each, steps, share in planners
    ]
    return [
        turn.name if proposal is not None else turn.name.upper()
        for turn, proposal in take_turns(started)
    ]


def test_equal_shares_alternate(monkeypatch):
    said = order_of(monkeypatch, ("a", 1.0, 2, 1.0), ("b", 1.0, 2, 1.0))
    assert said == ["a", "b", "a", "b", "A", "B"]


def test_a_larger_share_speaks_more_often(monkeypatch):
    """Two thirds of the time for a: after each of b's seconds it has two."""
    said = order_of(monkeypatch, ("a", 1.0, 4, 2.0), ("b", 1.0, 2, 1.0))
    assert said == ["a", "b", "a", "a", "b", "a", "A", "B"]


def test_long_steps_are_paid_for(monkeypatch):
    said = order_of(monkeypatch, ("slow", 3.0, 1, 1.0), ("b", 1.0, 3, 1.0))
    assert said == ["slow", "b", "b", "b", "SLOW", "B"]


def test_one_that_breaks_ends_and_says_why(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(turns, "time", clock)
    broken = Turn(Worker(clock, "broken", 1.0, 1), Brief(topcuoglu()))
    other = Turn(Worker(clock, "other", 1.0, 2), Brief(topcuoglu()))
    said = [turn.name for turn, proposal in take_turns([broken, other]) if proposal is not None]
    assert said == ["broken", "other", "other"]
    assert broken.trouble == "failed: ValueError: by design"
    assert other.trouble == ""


def test_closing_ends_it_for_good():
    turn = Turn(Worker(Clock(), "a", 1.0, 5), Brief(topcuoglu()))
    assert turn.step() is not None
    turn.close()
    assert turn.ended
    assert list(take_turns([turn])) == []
