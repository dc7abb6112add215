"""What another worker would have cost: the difference of two optima, where both are proven."""

from __future__ import annotations

import numpy as np
import pytest

import orchestrator_core as oc
from orchestrator_core import Assignment, Budget, Cluster, Instance, Schedule, TaskGraph, Worker
from orchestrator_core.report.planning import SMALL, solve, steps_of
from orchestrator_core.report.why.cost import forced
from orchestrator_core.report.why.options import options_of
from tests.plan.exhaustive import smallest_makespan
from tests.random_instances import random_instance


@pytest.fixture(scope="module")
def differences():
    """(plan's end, options, runner-up, optimum, optimum with the task forced there) of 100; the
    optima by looking at everything that could be better than one second more than was found."""
    found = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        instance = random_instance(rng, int(rng.integers(3, 6)), int(rng.integers(2, 4)))
        plan = oc.plan(instance, Budget(iterations=20), ["heft"])
        task = int(rng.integers(len(instance.graph)))
        name = instance.graph.names[task]
        (at,) = [a.worker for a in plan.schedule.assignments if a.task == name]
        options = options_of(instance, plan.schedule, task, instance.cluster.index[at])
        runner_up = options.runner_up
        there = forced(instance, task, instance.cluster.index[runner_up.worker])
        free = smallest_makespan(instance, options.best + 1)
        least = smallest_makespan(there, options.best + runner_up.cost.seconds + 1)
        found.append((plan.makespan, options, runner_up, free, least))
    return found


def test_on_a_hundred_random_instances_it_is_the_difference_of_two_proven_optima(differences):
    assert len(differences) == 100
    for _, options, runner_up, free, there in differences:
        assert runner_up.cost.exact
        assert options.optimal
        assert options.best == pytest.approx(free, abs=1e-6)
        assert runner_up.cost.seconds == pytest.approx(there - free, abs=1e-6)


def test_the_runner_up_is_the_cheapest_of_those_planned_anew(differences):
    for _, options, runner_up, _, _ in differences:
        costs = [option.cost.seconds for option in options.options if option.cost]
        assert runner_up.cost.seconds == min(costs)


def test_moving_one_task_alone_is_never_better_than_the_best_plan_with_it_there(differences):
    for end, _, runner_up, _, there in differences:
        assert end + runner_up.moved >= there - 1e-6


def test_by_hand():
    """Two tasks of 4 s: one on each of two workers, of speed 2 and 1, takes 4 s, and so do both
    on the fast one, one after the other."""
    builder = TaskGraph.build()
    builder.task("a", seconds=4)
    builder.task("b", seconds=4)
    instance = Instance.price(builder.done(), Cluster([Worker("fast", speed=2), Worker("slow")]))
    schedule = Schedule([Assignment("a", "fast", 0, 2), Assignment("b", "slow", 0, 4)])
    (option,) = options_of(instance, schedule, 1, 1).options
    assert (option.worker, option.seconds, option.moved) == ("fast", 2.0, 0.0)
    assert (option.cost.seconds, option.cost.exact) == (0.0, True)


def test_a_task_that_must_stay_has_no_other_option():
    builder = TaskGraph.build()
    builder.task("a", seconds=4, eligible=("x",))
    instance = Instance.price(builder.done(), Cluster([Worker("x"), Worker("y")]))
    options = options_of(instance, Schedule([Assignment("a", "x", 0, 4)]), 0, 0)
    assert (options.options, options.runner_up) == ((), None)


def test_workers_that_are_alike_are_told_once():
    builder = TaskGraph.build()
    builder.task("a", seconds=4)
    workers = [Worker("x"), *(Worker(f"s{i}", kind="small", speed=0.5) for i in range(3))]
    instance = Instance.price(builder.done(), Cluster(workers))
    (option,) = options_of(instance, Schedule([Assignment("a", "x", 0, 4)]), 0, 0).options
    assert (option.kind, option.alike, option.cost.seconds) == ("small", 2, 4.0)


def test_larger_ones_say_between_what_the_cost_lies_and_say_it_again():
    instance = random_instance(np.random.default_rng(3), SMALL + 16, 3)
    plan = oc.plan(instance, Budget(iterations=20), ["heft"]).schedule
    chosen = instance.cluster.index[plan.assignments[5].worker]
    task = instance.graph.index[plan.assignments[5].task]
    once, again = (options_of(instance, plan, task, chosen) for _ in range(2))
    assert once == again
    assert steps_of(instance)[1] is not None
    for option in once.options:
        if option.cost is not None:
            assert 0 <= option.cost.least <= option.cost.seconds <= option.cost.most


def test_forcing_leaves_one_worker_and_the_solution_obeys():
    instance = random_instance(np.random.default_rng(8), 6, 3, eligible=True)
    for task in range(6):
        for worker in range(3):
            there = forced(instance, task, worker)
            may = np.isfinite(instance.seconds[task, worker])
            assert (there is not None) == may
            if there is not None:
                name = instance.graph.names[task]
                placed = {a.task: a.worker for a in solve(there).schedule.assignments}
                assert placed[name] == instance.cluster.names[worker]
