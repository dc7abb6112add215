"""Where all times are whole ticks, so is the optimum."""

from __future__ import annotations

from fractions import Fraction

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.graph import Task, TaskGraph
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.plan.bounds.grid import rounded_up, unit_of
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.time_indexed import optimal_makespan
from tests.plan.tiny import tiny_instances


def test_the_unit_is_the_greatest_common_divisor_of_all_times() -> None:
    instance = Instance.from_arrays([[4.0, 6.0], [10.0, 8.0]], [(0, 1, 3.0)], latency=2.0)
    assert unit_of(instance) == 2


def test_transfers_count() -> None:
    """3 bytes at half a second each take 1.5 s."""
    instance = Instance.from_arrays([[4.0, 6.0]] * 2, [(0, 1, 3.0)], seconds_per_byte=0.5)
    assert unit_of(instance) == Fraction(1, 2)


def test_one_worker_sends_nothing() -> None:
    instance = Instance.from_arrays([[4.0], [6.0]], [(0, 1, 0.7)], seconds_per_byte=0.1)
    assert unit_of(instance) == 2


def test_irrational_times_have_none() -> None:
    assert unit_of(Instance.from_arrays([[2.0**0.5], [1.0]], [])) is None


def test_pieces_of_tasks_are_times_too() -> None:
    graph = TaskGraph.from_tasks([Task("a", seconds=4.0, checkpoints=(0.3,))])
    assert unit_of(Instance.price(graph, Cluster([Worker("w")]))) is None


@pytest.mark.parametrize(
    ("seconds", "unit", "rounded"),
    [
        (7.2, Fraction(2), 8.0),
        (8.0, Fraction(2), 8.0),
        (8.0 + 1e-12, Fraction(2), 8.0 + 1e-12),
        (0.0, Fraction(2), 0.0),
        (float("inf"), Fraction(2), float("inf")),
        (7.2, None, 7.2),
    ],
)
def test_bounds_are_rounded_up(seconds: float, unit: Fraction | None, rounded: float) -> None:
    assert rounded_up(seconds, unit) == rounded


def test_three_tasks_of_three_seconds_on_two_workers_take_six() -> None:
    """Work alone says 4.5 s."""
    result = plan(Instance.from_arrays([[3.0, 3.0]] * 3, []), planners=["heft"])
    assert (result.makespan, result.lower_bound) == (6.0, 6.0)


def test_optima_on_a_finer_grid_are_multiples_of_the_unit() -> None:
    looked_at = 0
    for _, instance in tiny_instances(range(80)):
        unit = unit_of(instance)
        if unit is None or instance.seconds[instance.eligible].sum() > 60 or looked_at == 8:
            continue
        try:
            ticks = optimal_makespan(instance, float(unit / 2)).makespan / float(unit)
        except InfeasibleInstance:
            continue
        assert ticks == pytest.approx(round(ticks))
        looked_at += 1
    assert looked_at == 8
