"""The span of each transfer is told how many bytes came with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from distributed import Client, Scheduler, Worker, wait

from orchestrator_core.execute.dask.workers.meters import NAME
from orchestrator_core.execute.dask.workers.shipped.fetches import NBYTES, Fetches
from orchestrator_core.execute.dask.workers.shipped.meter import Meter
from tests.execute.dask.cluster import cluster_test

HERE, THERE = "tcp://here", "tcp://there"


@dataclass(eq=False)
class State:
    """What of a task's state on a worker counts here."""

    nbytes: int = 0
    dependents: list[State] = field(default_factory=list)
    startstops: list[dict[str, Any]] = field(default_factory=list)


def came(consumer: State, source: str) -> dict[str, Any]:
    """Dask notes a transfer with the task that needs it."""
    span = {"action": "transfer", "start": 0.0, "stop": 1.0, "source": source}
    consumer.startstops.append(span)
    return span


def test_outputs_that_come_together_are_one_transfer() -> None:
    consumer, fetches = State(), Fetches()
    for key in "abc":
        fetches.begin(key, HERE)
    span = came(consumer, HERE)
    fetches.end("a", State(10, [consumer]))
    fetches.end("b", State(200, [consumer]))
    assert NBYTES not in span
    fetches.end("c", State(3000, [consumer]))
    assert span[NBYTES] == 3210


def test_transfers_from_several_workers_are_told_apart() -> None:
    consumer, fetches = State(), Fetches()
    fetches.begin("a", HERE)
    fetches.begin("b", THERE)
    there, here = came(consumer, THERE), came(consumer, HERE)
    fetches.end("b", State(2, [consumer]))
    fetches.end("a", State(1, [consumer]))
    fetches.begin("c", HERE)
    again = came(consumer, HERE)
    fetches.end("c", State(3, [consumer]))
    assert (here[NBYTES], there[NBYTES], again[NBYTES]) == (1, 2, 3)


def test_the_transfer_may_be_noted_with_any_task_that_needs_the_output() -> None:
    consumers, fetches = [State() for _ in range(5)], Fetches()
    fetches.begin("a", HERE)
    span = came(consumers[3], HERE)
    fetches.end("a", State(9, consumers))
    assert span[NBYTES] == 9


def test_what_nobody_there_needs_is_noted_with_itself() -> None:
    fetched, fetches = State(5), Fetches()
    fetches.begin("a", HERE)
    span = came(fetched, HERE)
    fetches.end("a", fetched)
    assert span[NBYTES] == 5


def test_a_transfer_of_which_a_part_was_not_wanted_any_more_says_nothing() -> None:
    consumer, fetches = State(), Fetches()
    fetches.begin("a", HERE)
    fetches.begin("b", HERE)
    fetches.end("a", None)
    span = came(consumer, HERE)
    fetches.end("b", State(7, [consumer]))
    fetches.end("b", State(7, [consumer]))
    fetches.end("never asked for", State(7, [consumer]))
    assert NBYTES not in span
    assert not fetches._batches
    assert not fetches._of


@cluster_test(config={"distributed.admin.low-level-log-length": 0})
async def test_dask_tells_of_fetches_as_is_thought_here(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Several outputs at once, of which one is needed by many; without any log on the worker."""
    assert await b.plugin_add(Meter(), name=NAME) == {"status": "OK"}
    sizes = [1_000, 20_000, 300_000]
    made = c.map(bytes, sizes, workers=[a.address], pure=False)
    await wait(made)
    told: list[dict[str, Any]] = []
    sent = b.batched_stream.send

    def listen(*messages: Any) -> None:
        told.extend(m for m in messages if m.get("op") == "task-finished")
        sent(*messages)

    b.batched_stream.send = listen
    total = c.submit(lambda *parts: sum(map(len, parts)), *made, workers=[b.address])
    assert await total == sum(sizes)
    spans = [each for one in told for each in one["startstops"] if each["action"] == "transfer"]
    held = sum(s.tasks[future.key].nbytes for future in made)
    assert sum(span[NBYTES] for span in spans) == held
