"""What users say about their tasks: heeded if it makes sense, else ignored with one line."""

from __future__ import annotations

import logging
import math
from datetime import timedelta
from typing import Any

import dask
import numpy as np
import pytest
from dask.delayed import delayed
from distributed import Client, Scheduler, Worker

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.graphs.hints import Hint, objective_of, read_hints
from orchestrator_core.execute.dask.graphs.snapshot import Snapshot
from orchestrator_core.graph.amounts import Amounts
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import Demand, TaskGraph
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import add, cluster_test, start, stop


def test_numbers_and_dasks_own_texts_are_understood() -> None:
    stated = {"seconds": "2m", "memory": "1 GiB", "output_bytes": 5, "workers": "gpu", "due": 3}
    assert read_hints({"a": stated}) == {
        "a": Hint(seconds=120.0, memory=2**30, output_bytes=5.0, workers=("gpu",), due=3.0)
    }


def test_numbers_and_times_of_libraries_are_numbers_and_times() -> None:
    stated = {"seconds": timedelta(minutes=2), "memory": np.int64(7), "weight": np.float32(0.5)}
    assert read_hints({"a": stated}) == {"a": Hint(seconds=120.0, memory=7.0, weight=0.5)}


class Silent:
    """An object of somebody's own that will not be looked at."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_an_object_that_raises_costs_its_own_hints_alone(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "orchestrator.dask"):
        hints = read_hints({"a": {"seconds": Silent()}, "b": {"seconds": 1}})
    assert hints == {"a": Hint(), "b": Hint(seconds=1.0)}
    (line,) = (record.getMessage() for record in caplog.records)
    assert "it cannot be read: RuntimeError" in line


WRONG = [
    ({"second": 1}, "there is no hint 'second'; there are seconds, memory"),
    ({"seconds": -1}, "seconds = -1: expected seconds >= 0"),
    ({"seconds": math.nan}, "expected seconds >= 0"),
    ({"seconds": True}, "expected seconds >= 0"),
    ({"seconds": 10**400}, "expected seconds >= 0"),
    ({"memory": np.array([1, 2])}, "expected bytes >= 0"),
    ({"memory": "4 oxen"}, "memory = '4 oxen'"),
    ({"workers": []}, "expected kinds or names of workers"),
    ({"workers": [3]}, "workers = [3]"),
    ({"kind": ""}, "kind = '': expected text"),
    ({"resources": {"GPU": -1}}, "must be finite and >= 0"),
    ({"objective": "speed"}, "there is no criterion 'speed'; there are makespan"),
    ({7: 1}, "there is no hint 7"),
    (["seconds"], "is no mapping of hints"),
]


@pytest.mark.parametrize(("stated", "message"), WRONG, ids=[str(w[0]) for w in WRONG])
def test_a_wrong_hint_is_ignored_with_one_line(
    stated: Any, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The other hints of the task count; a thousand tasks of one layer are one line."""
    layer = {**stated, "due": 1} if isinstance(stated, dict) else stated
    with caplog.at_level(logging.WARNING, "orchestrator.dask"):
        hints = read_hints({f"t-{i}": layer for i in range(1000)})
    (line,) = (record.getMessage() for record in caplog.records)
    assert message in line
    assert "'t-0'" in line
    assert set(hints.values()) == {Hint(due=1.0 if isinstance(stated, dict) else None)}


def test_one_graph_has_one_objective(caplog: pytest.LogCaptureFixture) -> None:
    price, time = Hint(objective="price"), Hint(objective="makespan")
    assert objective_of([Hint(), price, price]) == "price"
    assert objective_of([Hint()]) is None
    assert caplog.records == []
    assert objective_of([price, time]) is None
    assert "several objectives" in caplog.text


def test_hints_become_columns_of_the_graph() -> None:
    hint = {
        "seconds": 2,
        "memory": 3,
        "output_bytes": 4,
        "kind": "fit",
        "workers": ["gpu"],
        "resources": {"GPU": 1},
        "release": 5,
        "due": 6,
        "weight": 7,
        "deadline": 8,
    }
    seen = Snapshot(("a", "b"), ("p", "p"), ((), ("a",)), stated={"b": hint})
    plain, hinted = seen.graph.task("a"), seen.graph.task("b")
    assert (plain.kind, plain.seconds, plain.eligible, plain.deadline) == ("p", None, None, None)
    assert (hinted.kind, hinted.seconds, hinted.memory, hinted.output_bytes) == ("fit", 2, 3, 4)
    assert (hinted.eligible, hinted.resources) == (("gpu",), Amounts({"GPU": 1}))
    assert (hinted.release, hinted.due, hinted.weight, hinted.deadline) == (5, 6, 7, 8)
    assert seen.graph.n_edges == 1
    assert seen.plannable == {"a", "b"}, "a hint is no pin"


def test_a_pin_comes_before_a_hint() -> None:
    pinned = Demand(eligible=("w",))
    stated = {"a": {"workers": ["gpu"]}}
    seen = Snapshot(("a",), ("p",), ((),), pins={"a": pinned}, stated=stated)
    assert seen.graph.task("a").eligible == ("w",)


class Asked(FixedAdvisor):
    """Notes the objectives that graphs ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.objectives: list[str | None] = []

    def advise(
        self, graph: TaskGraph, cluster: Cluster, flow: str, objective: str | None = None
    ) -> Advice:
        self.objectives.append(objective)
        return super().advise(graph, cluster, flow)


@cluster_test()
async def test_annotations_reach_the_advisor(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    advisor = Asked()
    plugin = OrchestratorPlugin(advisor=advisor, min_tasks=1)
    await start(s, plugin)
    with dask.annotate(orchestrator={"seconds": 3, "kind": "slow", "objective": "price,makespan"}):
        slow = [delayed(add)(i, dask_key_name=f"s-{i}") for i in range(3)]
    total = delayed(sum)(slow, dask_key_name="total-0")
    assert await c.compute(total, optimize_graph=False) == 1 + 2 + 3
    await stop(s, plugin)
    ((graph, _, flow),) = advisor.asked
    assert [graph.task(f"s-{i}").seconds for i in range(3)] == [3.0] * 3
    assert graph.task("total-0").seconds is None
    assert flow == "slow+total"
    assert advisor.objectives == ["price,makespan"]
    (run,) = advisor.runs
    assert {record.task: record.kind for record in run.tasks}["s-0"] == "slow"


@cluster_test()
async def test_tasks_with_wrong_hints_run(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor, min_tasks=1)
    session = await start(s, plugin)
    with dask.annotate(orchestrator={"seconds": "soon", "tomorrow": 1}):
        tasks = [delayed(add)(i, dask_key_name=f"s-{i}") for i in range(3)]
    assert await c.gather(c.compute(tasks, optimize_graph=False)) == [1, 2, 3]
    assert session.counters.faults == 0
    await stop(s, plugin)
    assert advisor.runs[0].mode == "planned"
