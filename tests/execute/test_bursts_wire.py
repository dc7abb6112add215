"""How a flow's code submitted its tasks survives storage; what cannot be is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from orchestrator_core.errors import InvalidFormat
from orchestrator_core.execute.record import Burst, RunRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph


def a_run() -> RunRecord:
    builder = TaskGraph.build()
    for name in "abc":
        builder.task(name)
    return RunRecord(
        run_id="0" * 32,
        flow="flow",
        started_at=0.0,
        seconds=3.0,
        mode="observed",
        reason="",
        graph=builder.done(),
        cluster=Cluster([Worker("w")]),
        graph_signature="g",
        cluster_signature="c",
        bursts=(Burst(2, (), 0.5), Burst(1, ("b", "a"), 0.25)),
    )


def test_bursts_survive_json() -> None:
    assert RunRecord.from_json(a_run().to_json()) == a_run()
    assert json.loads(a_run().to_json())["bursts"] == [[2, [], 0.5], [1, [1, 0], 0.25]]
    assert b"bursts" not in replace(a_run(), bursts=()).to_json()


@pytest.mark.parametrize(
    ("bursts", "why"),
    [
        ([[3, [0], 0.5]], "not before it"),
        ([[1, [], 0.5], [2, [1], 0.5]], "not before it"),
        ([[1, [], 0.5], [2, [-1], 0.5]], "not before it"),
        ([[2, [], 0.5]], "bursts of 2 tasks"),
        ([[0, [], 0.5], [3, [], 0.5]], "a burst has tasks"),
        ([[3, [], -0.5]], "pause"),
        ([[3, [], 0.5, "more"]], "no run in JSON"),
    ],
)
def test_bursts_that_cannot_be_are_refused(bursts: list[Any], why: str) -> None:
    text = json.dumps(json.loads(a_run().to_json()) | {"bursts": bursts})
    with pytest.raises(InvalidFormat, match=why):
        RunRecord.from_json(text)
