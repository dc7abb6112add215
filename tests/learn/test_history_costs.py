"""HistoryCosts as a cost model: what it says of graphs, workers and modes; and as a value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.costs.model import FirstKnown, GraphCosts
from orchestrator_core.costs.observation import Observation
from orchestrator_core.errors import InvalidFormat
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task import Mode
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.learn.estimator import fit
from orchestrator_core.learn.history_costs import HistoryCosts
from tests.learn.observed import World, cluster, observe


def graph_of(*tasks: str) -> TaskGraph:
    builder = TaskGraph.build()
    for task in tasks:
        builder.task(task, kind=task.split("-")[0])
    return builder.done()


def test_it_prices_a_graph_that_states_nothing() -> None:
    world = World.make(0)
    instance = Instance.price(world.graph(), cluster(), fit(world.run()))
    assert instance.seconds.shape == (60, 4)


def test_workers_of_one_kind_are_alike() -> None:
    world = World.make(0)
    seconds = fit(world.run()).compute_seconds(world.graph(), cluster())
    assert (seconds[:, 2] == seconds[:, 3]).all()


def test_it_knows_a_graph_when_each_kind_was_seen() -> None:
    costs = fit([observe("load-1", "big", 1.0), observe("fit-1", "small", 1.0)])
    assert costs.knows(graph_of("load-7", "fit-7"))
    assert not costs.knows(graph_of("load-7", "save-1"))


def test_another_model_may_answer_for_the_kinds_that_it_does_not_know() -> None:
    builder = TaskGraph.build()
    builder.task("load-1", kind="load")
    builder.task("save-1", kind="save", seconds=9.0)
    model = FirstKnown([fit([observe("load-1", "big", 2.0)]), GraphCosts()])
    seconds = model.compute_seconds(builder.done(), Cluster([Worker("w", kind="big")]))
    assert seconds.ravel() == pytest.approx([2.0, 9.0], rel=0.02)


def test_a_worker_kind_never_seen_goes_by_its_speed_beside_a_known_one() -> None:
    """`big` is declared with speed 2 and takes 6 s: so a worker of speed 4 should take 3 s."""
    costs = fit([observe("load-1", "big", 6.0)])
    workers = Cluster([Worker("a", kind="big", speed=2.0), Worker("b", kind="new", speed=4.0)])
    seconds = costs.compute_seconds(graph_of("load-1"), workers)
    assert seconds[0] == pytest.approx([6.0, 3.0], rel=0.02)


def test_a_worker_kind_never_seen_goes_by_the_speeds_that_were_declared_when_learning() -> None:
    costs = fit([observe("load-1", "big", 6.0)], {"big": 2.0})
    alone = Cluster([Worker("b", kind="new", speed=4.0)])
    assert costs.compute_seconds(graph_of("load-1"), alone)[0, 0] == pytest.approx(3.0, rel=0.02)


def test_what_was_never_seen_is_less_sure() -> None:
    costs = fit([observe(f"load-{i}", "big", 6.0) for i in range(10)])
    workers = Cluster([Worker("a", kind="big"), Worker("b", kind="new")])
    graph = graph_of("load-1", "load-new")
    spread = costs.compute_seconds(graph, workers, 0.9) / costs.compute_seconds(graph, workers)
    assert 1.0 < spread[0, 0] < spread[0, 1]
    assert spread[0, 0] < spread[1, 0] < spread[1, 1]


def test_modes_differ_as_they_state() -> None:
    builder = TaskGraph.build()
    builder.task("fit-1", kind="fit", modes=[Mode("1", seconds=8.0), Mode("2", 2, seconds=5.0)])
    builder.task("eval-1", kind="eval", modes=[Mode("1"), Mode("2", 2)])
    costs = fit([observe("fit-1", "big", 16.0), observe("eval-1", "big", 3.0)])
    seconds = costs.compute_seconds(builder.done(), Cluster([Worker("w", kind="big", threads=2)]))
    assert seconds.ravel() == pytest.approx([16.0, 10.0, 3.0, 3.0], rel=0.03)


def test_a_value_survives_json() -> None:
    world = World.make(4)
    costs = fit(world.run(), {"fast": 4.0})
    again = HistoryCosts.from_json(costs.to_json())
    assert again == costs
    graph = world.graph()
    assert np.array_equal(
        again.compute_seconds(graph, cluster(), 0.8), costs.compute_seconds(graph, cluster(), 0.8)
    )
    assert HistoryCosts.from_json(HistoryCosts().to_json()) == HistoryCosts()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"null",
        b'{"format":"x","costs":{}}',
        b'{"format":1,"costs":{"kinds":3}}',
        b"\xff",
    ],
)
def test_what_is_no_such_json_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidFormat, match="history-costs"):
        HistoryCosts.from_json(text)


def test_it_says_what_it_rests_on() -> None:
    costs = fit([observe("load-1", "big", 1.0), observe("load-2", "small", 1.0)])
    assert repr(costs) == "HistoryCosts(1 kinds on 2 worker kinds, 2 observations)"


def test_compiling_is_learned_beside_the_work_and_not_as_part_of_it() -> None:
    """Three processes compiled for about 4 s; what is looked up in no time is no compiling."""
    setups = (4.0, 0.002, 4.2, 0.0, 3.8, 0.001)
    seen = [
        Observation(f"train-{i}", "train", f"w{i % 3}", "any", 1.0, setup_seconds=setup)
        for i, setup in enumerate(setups)
    ]
    seen += [Observation(f"load-{i}", "load", "w0", "any", 2.0) for i in range(3)]
    costs = fit(seen)
    assert costs.setup_seconds(("train", "load", "unknown")) == {"train": pytest.approx(4.0)}
    without = fit([replace(each, setup_seconds=0.0) for each in seen])
    graph = TaskGraph.from_columns(["train-0"], kinds=["train"])
    cluster = Cluster([Worker("w0", kind="any")])
    assert costs.compute_seconds(graph, cluster) == without.compute_seconds(graph, cluster)
    assert HistoryCosts.from_json(costs.to_json()) == costs


def test_what_the_latest_run_took_to_compile_is_what_the_next_one_takes() -> None:
    """Three runs, the newest first: one compiled for 19 s what the later ones loaded from disk, and
    in the newest no process was new."""
    seen = [
        Observation(f"train-{i}", "train", "w0", "any", 1.0, run_id=run, setup_seconds=setup)
        for run, setups in (
            ("third", (0.001, 0.0)),
            ("second", (9.0, 9.4)),
            ("first", (19.0, 18.0)),
        )
        for i, setup in enumerate(setups)
    ]
    assert fit(seen).setup_seconds(("train",)) == {"train": pytest.approx(9.2)}


@pytest.mark.parametrize("setup", [np.inf, np.nan, -3.0])
def test_what_cannot_be_a_time_to_compile_teaches_nothing(setup: float) -> None:
    seen = [
        Observation(f"train-{i}", "train", "w0", "any", 1.0, setup_seconds=each)
        for i, each in enumerate((4.0, setup, 4.0, setup))
    ]
    costs = fit(seen)
    assert costs.setup_seconds(("train",)) == {"train": pytest.approx(4.0)}
    assert HistoryCosts.from_json(costs.to_json()) == costs
    assert fit(seen[1:2]).setup_seconds(("train",)) == {}
