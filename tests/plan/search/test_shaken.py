"""HEFT with its weights shaken: never worse, valid, the same each time, and mostly better."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance, UnsupportedInstance
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine.compiled import interpreting
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.search.shaken import shaken
from tests.plan.tiny import tiny_instances


def layered(seed: int) -> Instance:
    dice = np.random.default_rng(seed)
    work = dice.lognormal(0.0, 0.7, 48)
    edges = [(a, b, 0) for b in range(12, 48) for a in dice.choice(range(b - 12, b), 2, False)]
    return Instance.from_arrays(np.outer(work, 1 / np.array([4.0, 2.0, 1.0, 1.0])), edges)


def test_it_leaves_a_part_of_what_heft_is_too_long() -> None:
    ratios = []
    for seed in range(8):
        instance = layered(seed)
        heft = plan(instance, planners=["heft"]).makespan
        found = shaken(instance)
        assert found is not None
        check_schedule(instance, found)
        ratios.append(found.makespan / heft)
    assert max(ratios) <= 1.0 + 1e-9
    assert np.exp(np.mean(np.log(ratios))) < 0.99


def test_it_is_the_same_each_time_compiled_or_not() -> None:
    instance = layered(3)
    with interpreting():
        interpreted = shaken(instance)
    assert shaken(instance) == interpreted == shaken(instance)


def test_it_keeps_every_constraint_or_finds_nothing() -> None:
    found = 0
    for _, instance in tiny_instances(range(40)):
        try:
            schedule = shaken(instance)
        except (InfeasibleInstance, UnsupportedInstance):
            continue
        if schedule is not None:
            check_schedule(instance, schedule)
            found += 1
    assert found > 15


def test_one_task_is_placed_where_it_is_shortest() -> None:
    schedule = shaken(Instance.from_arrays([[3.0, 2.0]], []))
    assert schedule is not None
    assert schedule.makespan == pytest.approx(2.0)
