"""The exam that every `Planner` takes; `Planner`'s docstring is the law that it asks about.

A test class derives from `PlannerContract` and says which planner it is. The instances are small,
one for each constraint; a planner has to take an instance or to say why not.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import PlanningFailed
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.planner import Brief, Planner, Proposal
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.schedule import Schedule
from tests.random_instances import FLAGS, random_instance

STEPS = 30
"""Iterations of the budgets."""

ENOUGH = 100_000
"""A planner that has made so many proposals within `STEPS` iterations will never end."""

CONSTRAINTS = ("none", *FLAGS, "all")
LISTS = [planner.name for planner in LIST_PLANNERS]


@cache
def an_instance(constraint: str) -> Instance:
    """Six tasks on three workers, whole seconds, with one constraint, none or all of them."""
    chosen = FLAGS if constraint == "all" else (constraint,) if constraint in FLAGS else ()
    rng = np.random.default_rng(CONSTRAINTS.index(constraint))
    return random_instance(rng, 6, 3, integer=True, **dict.fromkeys(chosen, True))


@cache
def a_schedule(constraint: str) -> Schedule | None:
    """A good schedule of it, if the lists find one."""
    try:
        return plan(an_instance(constraint), Budget(iterations=0), LISTS).schedule
    except PlanningFailed:
        return None


def proposals(planner: Planner, brief: Brief) -> list[Proposal]:
    """All of them; fails if there is no end to them."""
    found = []
    for proposal in planner.plan(brief):
        found.append(proposal)
        assert len(found) < ENOUGH, "it does not end"
    return found


def taken(planner: Planner) -> list[str]:
    """The constraints that the planner takes."""
    return [each for each in CONSTRAINTS if planner.unsupported(an_instance(each)) is None]


def as_bytes(found: list[Proposal]) -> list[tuple[bytes | None, float]]:
    """Schedules and bounds of the proposals that have any."""
    return [
        (p.schedule.to_json() if p.schedule is not None else None, p.lower_bound)
        for p in found
        if p.schedule is not None or p.lower_bound > 0
    ]


class PlannerContract:
    """Derive, and give a fixture `planner`."""

    @pytest.fixture
    def planner(self) -> Planner:
        raise NotImplementedError

    def test_it_has_a_name_and_a_lane(self, planner: Planner) -> None:
        assert planner.name
        assert planner.name == planner.name.strip().lower()
        assert isinstance(planner.lane, Lane)

    def test_a_refusal_is_a_reason(self, planner: Planner) -> None:
        reasons = [planner.unsupported(an_instance(each)) for each in CONSTRAINTS]
        assert all(reason is None or reason.strip() for reason in reasons)

    def test_what_it_proposes_is_valid_and_proven(self, planner: Planner) -> None:
        """Also with nothing to begin with. No bound exceeds a valid schedule."""
        for constraint in taken(planner):
            instance, known = an_instance(constraint), a_schedule(constraint)
            brief = Brief(instance, Budget(iterations=STEPS))
            shortest = known.makespan if known is not None else np.inf
            for proposal in proposals(planner, brief):
                for schedule in (proposal.schedule, proposal.seed):
                    if schedule is not None:
                        check_schedule(instance, schedule)
                        shortest = min(shortest, schedule.makespan)
                assert proposal.lower_bound <= shortest * (1 + 1e-6), constraint

    def test_the_same_brief_gives_the_same_bytes(self, planner: Planner) -> None:
        for constraint in taken(planner):
            brief = Brief(an_instance(constraint), Budget(iterations=STEPS, seed=5))
            brief.incumbent = a_schedule(constraint)
            first, again = (as_bytes(proposals(planner, replace(brief))) for _ in range(2))
            assert first == again, constraint

    def test_it_proposes_what_is_better_than_the_incumbent(self, planner: Planner) -> None:
        """Lists are asked before there is one, and give what they have."""
        for constraint in taken(planner) if planner.lane is not Lane.LIST else ():
            incumbent = a_schedule(constraint)
            if incumbent is None:
                continue
            brief = Brief(an_instance(constraint), Budget(iterations=STEPS), incumbent=incumbent)
            for proposal in proposals(planner, brief):
                if proposal.schedule is not None:
                    assert proposal.schedule.makespan <= incumbent.makespan, constraint

    def test_without_seconds_it_ends(self, planner: Planner) -> None:
        instance = an_instance("none")
        if planner.unsupported(instance) is None:
            proposals(planner, Brief(instance, Budget(seconds=0.0), incumbent=a_schedule("none")))

    def test_it_can_be_left_in_the_middle(self, planner: Planner) -> None:
        """And then asked again, as if nothing had happened."""
        instance = an_instance("none")
        if planner.unsupported(instance) is not None:
            return
        brief = Brief(instance, Budget(iterations=STEPS))
        walk = planner.plan(brief)
        next(walk, None)
        getattr(walk, "close", lambda: None)()
        for proposal in proposals(planner, brief):
            if proposal.schedule is not None:
                check_schedule(instance, proposal.schedule)

    def test_it_takes_news_between_two_proposals(self, planner: Planner) -> None:
        """A better incumbent and a higher bound may come at any time."""
        instance = an_instance("none")
        if planner.unsupported(instance) is not None:
            return
        brief = Brief(instance, Budget(iterations=STEPS))
        for number, proposal in enumerate(planner.plan(brief)):
            assert number < ENOUGH
            brief.incumbent = a_schedule("none")
            brief.lower_bound = max(brief.lower_bound, proposal.lower_bound)
