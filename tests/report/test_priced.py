"""Prices of a run: what its plan said where it said it, and the same scale elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import orchestrator_core as oc
from orchestrator_core.costs.observation import Observation
from orchestrator_core.learn.estimator import fit
from orchestrator_core.learn.history_costs import HistoryCosts
from orchestrator_core.report.planning import kept
from orchestrator_core.report.priced import RunPrices
from tests.report.recorded import run_as_planned, stretched
from tests.report.runs import two_worker_run

CLUSTER = oc.Cluster([oc.Worker("x", kind="fast", speed=2), oc.Worker("y", kind="slow")])
NOTHING = HistoryCosts()


def unpriced_chain():
    builder = oc.TaskGraph.build()
    builder.task("a", kind="load")
    builder.task("b", kind="fit", after=["a"])
    return builder.done()


def planned_run():
    graph = unpriced_chain()
    instance = oc.Instance(graph, CLUSTER, np.ones((2, 2)))
    plan = oc.Schedule([oc.Assignment("a", "x", 0, 2), oc.Assignment("b", "x", 2, 5)])
    return run_as_planned(instance, plan, lower_bound=5.0)


def test_without_anything_learned_the_plan_and_declared_speeds_tell():
    """a is 2 s on x of speed 2, so 4 s on y of speed 1."""
    seconds = RunPrices.of(planned_run(), NOTHING).instance.seconds
    assert seconds == pytest.approx(np.array([[2, 4], [3, 6]]))


def test_a_run_without_a_plan_is_priced_by_what_it_took():
    run = stretched(planned_run(), {"a": 1.5})
    seconds = RunPrices.of(replace(run, plan=None), NOTHING).instance.seconds
    assert seconds == pytest.approx(np.array([[3, 6], [3, 6]]))


def test_what_was_learned_says_how_workers_compare_and_the_plan_how_long_it_is():
    """Learned: y takes three times as long as x; the plan: a takes 2 s on x."""
    seen = [
        Observation("a", kind, worker, worker_kind, seconds * factor, run_id=str(i))
        for kind, seconds in (("load", 10.0), ("fit", 20.0))
        for worker, worker_kind, factor in (("x", "fast", 1.0), ("y", "slow", 3.0))
        for i in range(30)
    ]
    learned = fit(seen, {"fast": 2.0, "slow": 1.0})
    seconds = RunPrices.of(planned_run(), learned).instance.seconds
    assert seconds[:, 0] == pytest.approx([2, 3])
    assert seconds[:, 1] / seconds[:, 0] == pytest.approx([3, 3], rel=0.02)


def test_the_plan_of_the_run_is_a_plan_at_its_prices():
    run = planned_run()
    prices = RunPrices.of(run, NOTHING)
    again = kept(prices.instance, run.plan.schedule)
    assert again.makespan == pytest.approx(5.0)


def test_another_cluster_has_the_same_scale():
    wider = oc.Cluster([*CLUSTER.workers, oc.Worker("z", kind="huge", speed=8)])
    seconds = RunPrices.of(planned_run(), NOTHING).on(wider).seconds
    assert seconds == pytest.approx(np.array([[2, 4, 0.5], [3, 6, 0.75]]))


def test_a_task_that_nobody_knows_is_named():
    run = two_worker_run()
    with pytest.raises(oc.errors.InvalidInstance, match="'load'"):
        RunPrices.of(replace(run, plan=None, tasks=()), NOTHING)
