"""In a hurry only the first list planners are asked, so they are to complement each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS, ListPlanner
from orchestrator_core.plan.planner import Brief

FIRST = 6
"""About as many are through in a few milliseconds."""

SPEEDS = np.array([4.0, 2.0, 1.0, 1.0])


def layered(ratio: float, seed: int, tasks: int = 40, width: int = 6) -> Instance:
    """Up to three inputs from the layer above; a transfer takes `ratio` times as long as a task."""
    dice = np.random.default_rng(seed)
    seconds = dice.lognormal(0.0, 0.7, tasks)[:, None] / SPEEDS
    edges = [
        (int(producer), task, 1.0)
        for task in range(width, tasks)
        for producer in dice.choice(width, int(dice.integers(1, 4)), replace=False)
        + (task // width - 1) * width
    ]
    per_byte = ratio * float(seconds.mean())
    return Instance.from_arrays(seconds, edges, seconds_per_byte=per_byte, output_bytes=1.0)


def crossing_chains(ratio: float) -> Instance:
    """Six chains of six tasks; every third step takes the output of the next chain, too."""
    edges = []
    for step in range(1, 6):
        for chain in range(6):
            others = (chain, (chain + 1) % 6) if step % 3 == 0 else (chain,)
            edges += [(6 * (step - 1) + other, 6 * step + chain, 1.0) for other in others]
    seconds = np.tile(1.0 / SPEEDS, (36, 1))
    per_byte = ratio * float(seconds.mean())
    return Instance.from_arrays(seconds, edges, seconds_per_byte=per_byte, output_bytes=1.0)


def shortest(instance: Instance, planners: tuple[ListPlanner, ...]) -> float:
    """The least makespan that any of these comes to."""
    return min(
        proposal.schedule.makespan
        for planner in planners
        if planner.unsupported(instance) is None
        for proposal in planner.plan(Brief(instance))
        if proposal.schedule is not None
    )


@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.0, 5.0])
def test_the_first_few_are_nearly_as_good_as_all(ratio: float) -> None:
    excess = []
    for seed in range(6):
        instance = layered(ratio, seed)
        few = shortest(instance, LIST_PLANNERS[:FIRST])
        excess.append(math.log(few / shortest(instance, LIST_PLANNERS)))
    assert math.exp(float(np.mean(excess))) < 1.04


@pytest.mark.parametrize("ratio", [0.5, 0.75, 1.0, 1.5, 2.0, 3.0])
def test_where_outputs_cross_between_chains_few_will_do(ratio: float) -> None:
    instance = crossing_chains(ratio)
    few, best = (
        shortest(instance, planners) for planners in (LIST_PLANNERS[:FIRST], LIST_PLANNERS)
    )
    assert few <= 1.03 * best
    assert shortest(instance, LIST_PLANNERS[:1]) > 1.03 * best, "too easy"


def test_the_one_that_always_runs_is_the_cheapest_that_is_good_for_anything() -> None:
    assert LIST_PLANNERS[0].name == "heft"
    assert LIST_PLANNERS[0].work == min(planner.work for planner in LIST_PLANNERS)
