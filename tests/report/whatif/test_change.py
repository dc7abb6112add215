"""A change gives the cluster and the prices that it says."""

from __future__ import annotations

import numpy as np
import pytest

import orchestrator_core as oc
from orchestrator_core.errors import InfeasibleInstance, InvalidInput
from orchestrator_core.learn.history_costs import HistoryCosts
from orchestrator_core.report.priced import RunPrices
from orchestrator_core.report.whatif import Change
from tests.report.recorded import run_as_planned


def prices(graph=None, workers=None, link=None):
    if graph is None:
        builder = oc.TaskGraph.build()
        builder.task("a", kind="load", seconds=4)
        builder.task("b", kind="fit", seconds=6)
        graph = builder.done()
    workers = workers or [
        oc.Worker("x", kind="fast", speed=2, memory=10),
        oc.Worker("y", kind="slow"),
    ]
    instance = oc.Instance.price(graph, oc.Cluster(workers, link))
    plan = oc.plan(instance, oc.Budget(iterations=0), ["heft"]).schedule
    return RunPrices.of(run_as_planned(instance, plan), HistoryCosts())


def test_a_worker_joins_another_goes():
    change = Change(add=(oc.Worker("z", kind="huge", speed=4),), remove=("y",))
    instance = change.instance(prices())
    assert instance.cluster.names == ("x", "z")
    assert instance.seconds == pytest.approx(np.array([[2, 1], [3, 1.5]]))


def test_only_the_named_kind_is_faster():
    instance = Change(faster={"fit": 3.0}).instance(prices())
    assert instance.seconds == pytest.approx(np.array([[2, 4], [1, 2]]))


def test_memory_grows_on_every_worker():
    cluster = Change(memory=2.0).cluster(prices().run.cluster)
    assert [worker.memory for worker in cluster.workers] == [20, np.inf]


def test_a_new_worker_has_the_links_of_its_kind():
    workers = [oc.Worker("x", kind="near"), oc.Worker("y", kind="near"), oc.Worker("z", kind="far")]
    links = {("near", "near"): oc.Link(latency=1), ("near", "far"): oc.Link(latency=9)}
    before = oc.Cluster(workers, links=links)
    after = Change(add=(oc.Worker("w", kind="far"),)).cluster(before)
    assert after.latency[3].tolist() == [9, 9, 9, 0]
    assert after.latency[:3, :3].tolist() == before.latency.tolist()
    other = Change(add=(oc.Worker("w", kind="new"),)).cluster(before)
    assert other.latency[3].tolist() == [9, 9, 9, 0]


def test_nobody_left_and_nowhere_to_run_are_told():
    with pytest.raises(InvalidInput, match="no worker is left"):
        Change(remove=("x", "y")).instance(prices())
    builder = oc.TaskGraph.build()
    builder.task("a", seconds=1, resources={"GPU": 1})
    workers = [oc.Worker("x", resources={"GPU": 1}), oc.Worker("y")]
    with pytest.raises(InfeasibleInstance, match="'a'"):
        Change(remove=("x",)).instance(prices(builder.done(), workers))
