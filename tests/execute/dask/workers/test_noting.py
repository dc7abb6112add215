"""What a task says about itself reaches its record; what was no work of its own is not learned."""

from __future__ import annotations

from typing import Any

import pytest
from distributed import Client, Scheduler, Worker

from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.graphs.recorder import Recorder
from orchestrator_core.execute.dask.workers.noting import DEVICE, FACTS, SETUP, facts_in, note
from orchestrator_core.store.base import observation_of
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import cluster_test, start, stop


def says(number: int) -> int:
    note(setup_seconds=1e-6 * number)
    note(setup_seconds=1e-6, device_bytes=5.0)
    note(device_bytes=3.0)
    return number


def silent(number: int) -> int:
    return number


@cluster_test()
async def test_what_a_task_notes_is_in_its_record(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode="observe", advisor=advisor)
    await start(s, plugin)
    graph: dict[str, Any] = {f"says-{i}": (says, i) for i in range(4)}
    graph |= {f"silent-{i}": (silent, f"says-{i}") for i in range(4)}
    assert await c.gather(c.get(graph, [f"silent-{i}" for i in range(4)], sync=False)) == [
        *range(4)
    ]
    await stop(s, plugin)
    (run,) = advisor.runs
    told = {record.task: (record.setup_seconds, record.device_memory) for record in run.tasks}
    for i in range(4):
        setup, device = told[f"says-{i}"]
        assert setup == pytest.approx(1e-6 * (i + 1))
        assert device == 5.0
        assert told[f"silent-{i}"] == (0.0, None)


def test_outside_of_a_worker_nobody_is_told() -> None:
    note(setup_seconds=1.0)


def test_strange_metadata_says_nothing() -> None:
    for metadata in (None, {}, {"other": 3}, {FACTS: 7}):
        assert facts_in(metadata) == {}


class Place:
    """A roster of one worker."""

    def identity(self, address: str) -> tuple[str, str]:
        return "w", "kind"


class Ledger:
    started_at = 100.0

    def __init__(self) -> None:
        self.ended: list[Any] = []

    def add(self, ended: Any) -> None:
        self.ended.append(ended)

    def settle(self, key: Any, status: str) -> None:
        return


def recorded(**facts: float) -> Any:
    """The record of a task from second 2 to second 7 that noted this."""
    from orchestrator_core.execute.dask.graphs.ended import as_record

    ledger, recorder = Ledger(), Recorder(Place())  # type: ignore[arg-type]
    span = {"action": "compute", "start": 102.0, "stop": 107.0}
    detail = {"worker": "tcp://w", "startstops": [span], "nbytes": 8, "metadata": {FACTS: facts}}
    recorder.transition(ledger, "key", "memory", detail)
    (ended,) = ledger.ended
    return as_record(("t-0", "t"), ended)


def test_the_record_keeps_the_truth_and_the_lesson_leaves_the_setup_out() -> None:
    record = recorded(**{SETUP: 3.0, DEVICE: 64.0})
    assert (record.start, record.end, record.seconds) == (2.0, 7.0, 5.0)
    assert (record.setup_seconds, record.work_seconds) == (3.0, 2.0)
    learned = observation_of(record, "run")
    assert (learned.seconds, learned.device_memory) == (2.0, 64.0)


def test_no_more_is_left_out_than_it_took() -> None:
    record = recorded(**{SETUP: 30.0})
    assert (record.seconds, record.setup_seconds, record.work_seconds) == (5.0, 5.0, 0.0)
