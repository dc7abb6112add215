"""An instance on the workers that there are now."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.live.pace import Pace
from orchestrator_core.execute.live.repricing import PAUSED, reprice
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph

USUAL = Pace({}, {})


def planned() -> Instance:
    """Two tasks on `a` and `b`, which look alike; `a` was seen to be twice as fast."""
    builder = TaskGraph.build()
    builder.task("one", kind="load")
    builder.task("two", kind="fit")
    workers = [Worker("a", kind="big~x2"), Worker("b", kind="big"), Worker("s", kind="small")]
    return Instance(builder.done(), Cluster(workers), np.array([[1.0, 2.0, 5.0], [3.0, 6.0, 9.0]]))


def seconds(workers: list[Worker], paused: frozenset[str] = frozenset(), pace: Pace = USUAL):
    return reprice(planned(), Cluster(workers), paused, pace).seconds.tolist()


def test_a_worker_that_calls_itself_by_its_plain_kind_is_known_by_name() -> None:
    now = [Worker("b", kind="big"), Worker("a", kind="big")]
    assert seconds(now) == [[2.0, 1.0], [6.0, 3.0]]


def test_a_new_worker_is_like_most_of_its_kind() -> None:
    now = [Worker("a", kind="big"), Worker("new", kind="big"), Worker("t", kind="small")]
    assert seconds(now) == [[1.0, 2.0, 5.0], [3.0, 6.0, 9.0]]


def test_a_new_worker_is_like_the_only_one_of_its_kind() -> None:
    instance = planned()
    members = [instance.cluster.workers[0], instance.cluster.workers[2]]
    fewer = Instance(instance.graph, Cluster(members), instance.seconds[:, [0, 2]])
    found = reprice(fewer, Cluster([Worker("new", kind="big")]), frozenset(), USUAL)
    assert found.seconds.tolist() == [[1.0], [3.0]]


def test_a_name_that_now_is_another_kind_is_not_known() -> None:
    assert seconds([Worker("a", kind="small")]) == [[5.0], [9.0]]


def test_a_kind_that_is_not_known_goes_by_its_speed() -> None:
    assert seconds([Worker("x", kind="huge", speed=4.0)]) == [[0.25], [0.75]]


def test_a_paused_worker_stays_and_is_avoided() -> None:
    now = [Worker("a", kind="big")]
    assert seconds(now, frozenset("b")) == [[1.0, 2.0 * PAUSED], [3.0, 6.0 * PAUSED]]


def test_the_pace_counts_by_kind_and_by_worker() -> None:
    pace = Pace({"load": np.log(2.0)}, {"b": np.log(3.0)})
    now = [Worker("a", kind="big"), replace(Worker("b"), kind="big")]
    assert np.allclose(seconds(now, pace=pace), [[2.0, 12.0], [3.0, 18.0]])


def test_a_worker_that_is_there_and_begins_nothing_is_avoided() -> None:
    now = [Worker("a", kind="big"), Worker("s", kind="small")]
    assert seconds(now, frozenset("a")) == [[1.0 * PAUSED, 5.0], [3.0 * PAUSED, 9.0]]
