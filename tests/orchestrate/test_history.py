"""An orchestrator tells how a flow went before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator_core import Cluster, Orchestrator, RunRecord, TaskGraph, Worker
from orchestrator_core.execute.advice import NoAdvisor, Recalls
from orchestrator_core.execute.record import Burst
from orchestrator_core.store.memory import MemoryStore
from orchestrator_core.store.sql import ScheduleStore


def run(number: int, signature: str, **fields: object) -> RunRecord:
    builder = TaskGraph.build()
    builder.task("a")
    builder.task("b", after=["a"])
    made = RunRecord(
        run_id=f"{number:032x}",
        flow="flow",
        started_at=float(number),
        seconds=1.0,
        mode="observed",
        reason="",
        graph=builder.done(),
        cluster=Cluster([Worker("w")]),
        graph_signature=signature,
        cluster_signature="c",
        bursts=(Burst(1, (), 0.5), Burst(1, ("a",), 0.25)),
    )
    return replace(made, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["memory", "sql"])
def test_the_newest_run_of_each_graph_that_ended_well(kind: str, tmp_path: object) -> None:
    store = MemoryStore() if kind == "memory" else ScheduleStore(f"{tmp_path}/runs.db")
    runs = [
        run(1, "x"),
        run(2, "y"),
        run(3, "y"),
        run(4, "z", status="failed"),
        run(5, "x", flow="another"),
        run(6, "w"),
    ]
    for each in runs:
        store.add_run(each)
    orchestrator = Orchestrator(store)
    assert list(orchestrator.history("flow")) == [runs[5], runs[2], runs[0]]
    assert list(orchestrator.history("unknown")) == []
    orchestrator.close()
    store.close()


@pytest.mark.parametrize(
    ("flow", "origin", "found"),
    [
        ("flow", "sales", [3, 1]),
        ("flow", "staff", [2]),
        ("flow", "", [4, 2, 1]),
        ("renamed", "staff", [2]),
        ("flow", "moved", []),
    ],
)
def test_another_flow_of_that_name_is_no_history(flow: str, origin: str, found: list[int]) -> None:
    """Nor is a flow that was renamed another one."""
    store = MemoryStore()
    for number, at, signature in ((1, "sales", "x"), (2, "staff", "y"), (3, "sales", "z")):
        store.add_run(run(number, signature, origin=at))
    store.add_run(run(4, "z"))
    orchestrator = Orchestrator(store)
    assert [int(each.run_id, 16) for each in orchestrator.history(flow, origin)] == found
    orchestrator.close()


def test_they_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    for number in range(5):
        store.add_run(run(number, f"graph {number}"))
    read: list[str] = []
    found = store.run
    monkeypatch.setattr(store, "run", lambda run_id: read.append(run_id) or found(run_id))
    orchestrator = Orchestrator(store)
    assert next(orchestrator.history("flow")).graph_signature == "graph 4"
    assert len(read) == 1
    orchestrator.close()


def test_who_is_off_or_has_no_memory_recalls_nothing() -> None:
    store = MemoryStore()
    store.add_run(run(1, "x"))
    off = Orchestrator(store, mode="off")
    assert isinstance(off, Recalls)
    assert list(off.history("flow")) == []
    assert not isinstance(NoAdvisor(), Recalls)
    off.close()
