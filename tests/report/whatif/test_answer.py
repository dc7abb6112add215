"""What a change saves, and what no plan can save more than: against known optima."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import orchestrator_core as oc
from orchestrator_core.learn.history_costs import HistoryCosts
from orchestrator_core.plan.delayed import delayed
from orchestrator_core.report.priced import RunPrices
from orchestrator_core.report.whatif import Change, what_if
from tests.plan.exhaustive import smallest_makespan
from tests.random_instances import random_instance
from tests.report.recorded import run_as_planned

STEPS = oc.Budget(iterations=100)


def prices_of(graph, cluster, planner="heft"):
    instance = oc.Instance.price(graph, cluster)
    result = oc.plan(instance, oc.Budget(iterations=0), [planner])
    run = run_as_planned(instance, result.schedule, result.lower_bound)
    return RunPrices.of(run, HistoryCosts())


def equal_tasks(count):
    builder = oc.TaskGraph.build()
    for i in range(count):
        builder.task(f"t{i}", kind="step", seconds=3)
    return builder.done()


def pair(**fields):
    return [oc.Worker(f"w{i}", **fields) for i in range(2)]


def test_twice_the_workers_take_half_the_time():
    """Four equal tasks: two rounds on two workers, one on four; that is also the bound."""
    prices = prices_of(equal_tasks(4), oc.Cluster(pair()))
    answer = what_if(prices, Change(add=(oc.Worker("n1"), oc.Worker("n2"))), STEPS)
    assert (answer.before, answer.after, answer.lower_bound) == (6.0, 3.0, 3.0)
    assert (answer.saves, answer.at_most, answer.by_planning) == (0.5, 0.5, 0.0)
    assert (answer.optimal, answer.planned_before) == (True, True)


def test_fewer_workers_cost_more():
    prices = prices_of(equal_tasks(4), oc.Cluster(pair()))
    answer = what_if(prices, Change(remove=("w1",)), STEPS)
    assert (answer.after, answer.saves, answer.at_most) == (12.0, -1.0, -1.0)
    loads = {load.name: (load.before, load.after) for load in answer.workers}
    assert loads == {"w0": (1.0, 1.0), "w1": (1.0, None)}


def test_more_than_what_runs_at_a_time_saves_nothing():
    prices = prices_of(equal_tasks(2), oc.Cluster(pair()))
    answer = what_if(prices, Change(add=(oc.Worker("n1"),)), STEPS)
    assert (answer.saves, answer.at_most) == (0.0, 0.0)
    assert answer.workers[-1].before is None


def test_memory_that_kept_tasks_apart():
    """Two tasks of 6 bytes do not fit in 10 beside each other, in 20 they do."""
    builder = oc.TaskGraph.build()
    for name in "ab":
        builder.task(name, seconds=3, memory=6)
    cluster = oc.Cluster([oc.Worker("x", threads=2, memory=10)])
    answer = what_if(prices_of(builder.done(), cluster, "serial"), Change(memory=2.0), STEPS)
    assert (answer.before, answer.after, answer.saves) == (6.0, 3.0, 0.5)


def test_what_planning_alone_saves_is_told_apart():
    """The run's plan had all four tasks on one worker: planned again they take half of that."""
    graph, cluster = equal_tasks(4), oc.Cluster(pair())
    instance = oc.Instance.price(graph, cluster)
    rows = [oc.Assignment(f"t{i}", "w0", 3.0 * i, 3.0 * i + 3.0) for i in range(4)]
    prices = RunPrices.of(run_as_planned(instance, oc.Schedule(rows), 6.0), HistoryCosts())
    answer = what_if(prices, Change(faster={"step": 2.0}), STEPS)
    assert (answer.before, answer.again, answer.after) == (12.0, 6.0, 3.0)
    assert (answer.by_planning, answer.saves) == (0.5, 0.75)


def test_what_passed_before_the_first_task_is_no_saving():
    """Submitting took 2 s; a change of workers does not make that shorter."""
    prices = prices_of(equal_tasks(4), oc.Cluster(pair()))
    run, plan = prices.run, prices.run.plan
    late = replace(
        run,
        seconds=run.seconds + 2.0,
        plan=replace(
            plan,
            schedule=delayed(plan.schedule, 2.0),
            predicted=plan.predicted + 2.0,
            lower_bound=plan.lower_bound + 2.0,
        ),
        tasks=tuple(replace(t, start=t.start + 2.0, end=t.end + 2.0) for t in run.tasks),
    )
    change = Change(add=(oc.Worker("n1"), oc.Worker("n2")))
    answer = what_if(RunPrices.of(late, HistoryCosts()), change, STEPS)
    assert answer == replace(what_if(prices, change, STEPS), lead=2.0)
    assert (answer.before, answer.after, answer.took) == (6.0, 3.0, 6.0)


def test_a_run_without_a_plan_is_compared_with_the_best_one():
    prices = prices_of(equal_tasks(4), oc.Cluster(pair()))
    observed = RunPrices.of(replace(prices.run, plan=None, seconds=7.0), HistoryCosts())
    answer = what_if(observed, Change(add=(oc.Worker("n1"), oc.Worker("n2"))), STEPS)
    assert (answer.before, answer.planned_before, answer.took) == (6.0, False, 7.0)


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_holds_for_every_plan_and_a_proven_one_is_the_optimum(seed):
    instance = random_instance(np.random.default_rng(seed), 5, 3)
    speeds = oc.Cluster.from_matrices(
        instance.cluster.workers,
        latency=instance.cluster.latency,
        seconds_per_byte=instance.cluster.seconds_per_byte,
    )
    builder = oc.TaskGraph.build()
    for i, name in enumerate(instance.graph.names):
        builder.task(name, kind=f"k{i % 2}", seconds=float(instance.seconds[i, 0]))
    for edge in instance.graph.edges():
        builder.edge(edge.producer, edge.consumer, edge.nbytes)
    prices = prices_of(builder.done(), speeds)
    change = Change(remove=(speeds.names[0],), faster={"k1": 2.0})
    answer = what_if(prices, change, STEPS)
    optimum = smallest_makespan(change.instance(prices), answer.after + 1)
    assert answer.lower_bound <= optimum + 1e-6
    assert answer.after >= optimum - 1e-6
    assert not answer.optimal or answer.after == pytest.approx(optimum, abs=1e-5)


def test_what_is_believed_is_said():
    prices = prices_of(equal_tasks(2), oc.Cluster(pair()))
    add = (oc.Worker("g", kind="gpu", speed=4),)
    believed, links, memory = what_if(prices, Change(add=add, memory=2.0), STEPS).notes
    assert "ever measured on a worker of kind 'gpu'" in believed
    assert "links to workers of kind 'gpu'" in links
    assert "no worker of the run states a limit" in memory
    assert what_if(prices, Change(faster={"step": 2.0}), STEPS).notes == ()


def test_a_run_of_no_tasks_is_answered_too():
    prices = prices_of(equal_tasks(0), oc.Cluster(pair()))
    answer = what_if(prices, Change(add=(oc.Worker("n1"),)), STEPS)
    assert (answer.before, answer.again, answer.after) == (0.0, 0.0, 0.0)
    assert (answer.saves, answer.planned_before) == (0.0, True)
