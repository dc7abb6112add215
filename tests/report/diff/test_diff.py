"""What changed between two runs: every figure by hand, and sums that must come out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import orchestrator_core as oc
from orchestrator_core.report.diff import diff
from orchestrator_core.report.diff.kinds import WAITING, path_by_kind
from tests.random_instances import random_instance
from tests.report.recorded import run_as_planned, stretched
from tests.report.runs import two_worker_run, wide_run


def later(run, **factors):
    """The run again, with durations that differ by task."""
    return replace(stretched(run, factors), run_id="2" * 32)


def test_a_run_beside_itself_shows_no_difference():
    found = diff(two_worker_run(), two_worker_run())
    assert (found.seconds, found.ratio, found.moved) == (0.0, 1.0, 0)
    assert (found.same_graph, found.same_cluster, found.same_flow) == (True, True, True)
    assert found.tasks == found.workers == type(found.tasks)((), (), ())
    assert all(kind.share == 0 and kind.path_change == 0 for kind in found.kinds)


def test_the_kind_that_took_longer_has_the_whole_difference():
    """train takes 3.3 s, then 4.3 s: it ends the run."""
    before = two_worker_run()
    after = later(before, train=4.3 / 3.3)
    found = diff(before, after)
    assert found.seconds == pytest.approx(1.0)
    first = found.kinds[0]
    assert (first.kind, first.count_before, first.count_after) == ("kind of train", 1, 1)
    assert (first.mean_before, first.mean_after) == pytest.approx((3.3, 4.3))
    assert (first.path_change, first.share) == pytest.approx((1.0, 1.0))
    assert found.changes[0].task == "train"
    assert found.changes[0].change == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(8))
def test_the_kinds_add_up_to_the_run_and_the_differences_to_the_difference(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, 20, 3)
    plan = oc.plan(instance, oc.Budget(iterations=0), ["heft"]).schedule
    before = run_as_planned(instance, plan)
    other = oc.plan(instance, oc.Budget(iterations=0), ["serial"]).schedule
    after = replace(run_as_planned(instance, other), seconds=other.makespan + 0.7)
    for run in (before, after):
        assert sum(path_by_kind(run).values()) == pytest.approx(run.seconds)
    found = diff(before, after)
    assert sum(kind.path_change for kind in found.kinds) == pytest.approx(found.seconds)
    assert sum(kind.share for kind in found.kinds) == pytest.approx(1.0)


def test_time_in_which_nothing_of_the_path_ran_is_waiting():
    """load until 2.2, train from 3.3: 1.1 s."""
    spent = path_by_kind(two_worker_run())
    assert spent[WAITING] == pytest.approx(1.1)
    assert spent["kind of load"] == pytest.approx(2.2)


def test_tasks_that_moved_are_counted_by_the_kinds_of_their_workers():
    before = two_worker_run()
    moved = replace(before.tasks[1], worker="slow", worker_kind="slow")
    found = diff(before, replace(before, tasks=(before.tasks[0], moved, before.tasks[2])))
    assert (found.moved, found.routes) == (1, (("fast", "slow", 1),))


def test_tasks_and_workers_that_came_went_or_changed_are_named():
    before = two_worker_run()
    builder = oc.TaskGraph.build()
    builder.task("load")
    builder.task("train")
    builder.task("test", after=["train"])
    workers = [oc.Worker("fast", kind="fast", speed=2, threads=4), oc.Worker("more")]
    after = replace(
        before, graph=builder.done(), cluster=oc.Cluster(workers), graph_signature="c" * 64
    )
    found = diff(before, after)
    assert (found.tasks.added, found.tasks.gone) == (("test",), ("clean",))
    assert found.tasks.changed == (("train", "inputs"),)
    assert (found.workers.added, found.workers.gone) == (("more",), ("slow",))
    assert found.workers.changed == (("fast", "threads 1 → 4, speed 1 → 2"),)
    assert not found.same_graph


def test_promise_and_outcome_of_both():
    planned = two_worker_run()
    found = diff(replace(planned, plan=None, mode="observed"), planned)
    assert (found.before.predicted, found.before.error) == (None, None)
    assert (found.after.predicted, found.after.lower_bound) == (6.0, 5.0)
    assert found.after.error == pytest.approx(0.1)
    assert planned.plan is not None
    left = replace(planned.plan, adopted=False, default_predicted=3.0)
    assert diff(planned, replace(planned, plan=left)).after.error == pytest.approx(1.2)


def test_runs_with_nothing_in_common_can_be_compared():
    found = diff(two_worker_run(), wide_run(3, 2))
    assert (found.same_flow, found.changes) == (False, ())
    assert found.seconds == pytest.approx(2.0 - 6.6)


def test_a_run_in_which_nothing_ran():
    empty = replace(two_worker_run(), tasks=(), seconds=0.0)
    found = diff(empty, two_worker_run())
    assert (found.ratio, found.before.work) == (None, 0)
    assert sum(kind.path_change for kind in found.kinds) == pytest.approx(6.6)
