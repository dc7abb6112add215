"""Flows on a real cluster that submit, wait, and submit again: planned with what will follow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_prefect import OptimizedTaskRunner
from orchestrator_prefect.sending.link import DaskLink

from .earlier import Knowing, in_turns
from .listening import listening
from .parity import gate
from .processes import SECONDS, until


@task
def load(number: int) -> int:
    return number


@task
def double(number: int) -> int:
    return 2 * number


@task
def total(*numbers: int) -> int:
    return sum(numbers)


@task
def fails(number: int) -> int:
    raise ValueError("wrong")


def staged(loads: int = 3, doubled: int = 3) -> int:
    """load; when all are there, double some of them; when these are there, their total."""
    numbers = [future.result() for future in [load.submit(i) for i in range(loads)]]
    futures = [double.submit(number) for number in numbers[:doubled]]
    [future.wait() for future in futures]
    return int(total.submit(*futures).result())


@pytest.fixture
def knowing() -> Knowing:
    return Knowing(lambda graph, cluster: in_turns(graph, cluster, 0.05))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What was said to the scheduler with each announcement."""
    found: list[dict[str, Any]] = []
    begin = DaskLink.begin

    def noted(link: DaskLink, run_id: str, batch: Any, slots: Any, *more: Any) -> float:
        gone = more[2] if len(more) > 2 else ()
        names = [submission.name for submission in batch]
        found.append({"run": run_id, "names": names, "slots": len(slots), "gone": len(gone)})
        return begin(link, run_id, batch, slots, *more)

    monkeypatch.setattr(DaskLink, "begin", noted)
    return found


@pytest.fixture
def said() -> Iterator[list[str]]:
    """What the flow runs' logger says, from INFO on."""
    lines: list[str] = []
    with listening(["prefect.flow_runs"], lambda record: lines.append(record.getMessage())):
        yield lines


def run(cluster: Any, knowing: Knowing, body: Any = staged, *args: int, **options: Any) -> Any:
    options = {"report": False, **options}
    runner = OptimizedTaskRunner(cluster=cluster, advisor=knowing, **options)
    return flow(task_runner=runner)(body)(*args)


def names(graph: TaskGraph) -> set[str]:
    return set(graph.names)


def test_the_first_burst_of_a_known_flow_is_planned_with_all_that_follows(
    cluster: Any, knowing: Knowing, told: list[dict[str, Any]]
) -> None:
    assert run(cluster, knowing) == run(cluster, knowing) == 6
    first, second = knowing.runs
    every = names(first.graph)
    assert len(every) == 7
    assert [names(graph) for graph in knowing.asked[3:]] == [every] * len(knowing.asked[3:])
    (announced,) = [each for each in told if each["run"] == second.run_id]
    assert (set(announced["names"]), announced["slots"], announced["gone"]) == (every, 7, 0)
    plan = second.plan
    assert plan is not None
    assert {row.task for row in plan.schedule.assignments} == every
    where = {row.task: row.worker for row in plan.schedule.assignments}
    assert {record.task: record.worker for record in second.tasks} == where
    assert second.graph == first.graph


def test_what_the_code_waited_for_is_in_the_record(cluster: Any, knowing: Knowing) -> None:
    run(cluster, knowing)
    (record,) = knowing.runs
    edges = {(edge.producer, edge.consumer, edge.nbytes) for edge in record.graph.edges()}
    assert edges == {
        *((f"load-{i}", f"double-{j}", 0.0) for i in range(3) for j in range(3)),
        *((f"double-{i}", "total-0", 1.0) for i in range(3)),
    }
    assert [(burst.size, burst.after) for burst in record.bursts] == [
        (3, ()),
        (3, ("load-0", "load-1", "load-2")),
        (1, ("double-0", "double-1", "double-2")),
    ]
    assert RunRecord.from_json(record.to_json()) == record


def test_the_forecast_is_for_the_whole_run(cluster: Any, knowing: Knowing) -> None:
    """7 tasks of 0.05 s one after the other; pauses and the lead come on top."""
    for _ in range(2):
        run(cluster, knowing)
    plan = knowing.runs[1].plan
    assert plan is not None
    assert plan.predicted > 0.35
    assert plan.predicted >= plan.schedule.makespan
    assert plan.schedule.makespan == max(row.end for row in plan.schedule.assignments)
    assert plan.reason == "planned for a test"


def test_a_run_that_goes_another_way_says_so_once_and_goes_on(
    cluster: Any, knowing: Knowing, told: list[dict[str, Any]], said: list[str]
) -> None:
    assert run(cluster, knowing) == 6
    assert run(cluster, knowing, staged, 3, 2) == 2
    (line,) = [line for line in said if "another way" in line]
    assert re.fullmatch(
        r"This run goes another way than run \w{8}: task 'total-0' took other inputs\. "
        r"It is planned from what is known\.",
        line,
    )
    record = knowing.runs[1]
    assert names(record.graph) == {
        *(f"load-{i}" for i in range(3)),
        "double-0",
        "double-1",
        "total-0",
    }
    assert {row.task for row in record.tasks} == names(record.graph)
    plan = record.plan
    assert plan is not None
    assert {row.task for row in plan.schedule.assignments} == names(record.graph)
    assert [each["gone"] for each in told if each["run"] == record.run_id] == [0, 1]


def test_of_two_branches_each_is_foreseen_when_it_was_the_last(
    cluster: Any, knowing: Knowing, told: list[dict[str, Any]], said: list[str]
) -> None:
    for doubled in (3, 2, 2, 3):
        assert run(cluster, knowing, staged, 3, doubled) == (2 if doubled == 2 else 6)
    announcements = [sum(each["run"] == record.run_id for each in told) for record in knowing.runs]
    # The first run knows nothing; the second and the fourth go the other way than the last.
    assert announcements == [3, 2, 1, 2]
    assert sum("another way" in line for line in said) == 2


def test_a_run_that_ends_early_says_what_did_not_come(
    cluster: Any, knowing: Knowing, said: list[str]
) -> None:
    def body(on: int) -> int:
        number = load.submit(1).result()
        return int(double.submit(number).result()) if on else 0

    assert run(cluster, knowing, body, 1) == 2
    assert run(cluster, knowing, body, 0) == 0
    assert "The run ended without 1 task that was foreseen, such as 'double-0'" in said
    record = knowing.runs[1]
    assert record.graph.names == ("load-0",)
    assert record.plan is not None
    assert [row.task for row in record.plan.schedule.assignments] == ["load-0"]
    assert record.plan.lower_bound == 0.0, "what was proven of two tasks is not true of one"


def test_failing_tasks_and_subflows_are_foreseen_too(
    cluster: Any, knowing: Knowing, told: list[dict[str, Any]], said: list[str]
) -> None:
    @flow
    def inner() -> int:
        return double.submit(20).result() + 2

    def body() -> int:
        broken = fails.submit(load.submit(1))
        broken.wait()
        never = double.submit(broken)
        number = inner()
        never.wait()
        return int(double.submit(load.submit(number)).result())

    assert [run(cluster, knowing, body) for _ in range(3)] == [84] * 3
    first, *others = knowing.runs
    assert all(names(record.graph) == names(first.graph) for record in others)
    assert names(first.graph) == {"load-0", "fails-0", "double-0", "load-1", "double-1"}
    assert [sum(each["run"] == record.run_id for each in told) for record in others] == [1, 1]
    assert not [line for line in said if "another way" in line]


@task
def mixed(number: int, *inputs: int) -> int:
    return 7 * number + 3 * sum(inputs)


Order = tuple[str, int, list[int]]


def any_orders(chance: Random, begun: list[Order]) -> list[Order]:
    """Six more submissions, with inputs from before, and waits in between."""
    orders = list(begun)
    for _ in range(6):
        tasks = [number for what, number, _ in orders if what == "submit"]
        if tasks and chance.random() < 0.4:
            orders.append(("wait", chance.choice(tasks), []))
        inputs = chance.sample(tasks, min(len(tasks), chance.randrange(3)))
        orders.append(("submit", len(tasks), inputs))
    return orders


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_whatever_is_foreseen_all_results_are_right(
    cluster: Any, knowing: Knowing, seed: int
) -> None:
    """A random flow, the same once more, and one that is like it up to somewhere."""
    chance = Random(seed)
    first = any_orders(chance, [])
    for orders in (first, first, any_orders(chance, first[: chance.randrange(1, len(first))])):

        def body(orders: list[Order] = orders) -> list[int]:
            futures: dict[int, Any] = {}
            for what, number, inputs in orders:
                if what == "wait":
                    futures[number].wait()
                else:
                    futures[number] = mixed.submit(number, *(futures[i] for i in inputs))
            return [future.result() for future in futures.values()]

        right: dict[int, int] = {}
        for what, number, inputs in orders:
            if what == "submit":
                right[number] = 7 * number + 3 * sum(right[i] for i in inputs)
        assert run(cluster, knowing, body) == list(right.values())
        assert len(knowing.runs[-1].tasks) == len(right)


def test_the_plan_artifact_says_how_many_tasks_are_foreseen(cluster: Any, knowing: Knowing) -> None:
    def Foreseeing() -> int:
        return staged()

    for _ in range(2):
        run(cluster, knowing, Foreseeing, report=True)
    key = ArtifactFilterKey(any_=["orchestrator-plan-foreseeing"])
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(artifact_filter=ArtifactFilter(key=key))
    text = {artifact.flow_run_id.hex: str(artifact.data) for artifact in found}
    first, second = (text[record.run_id] for record in knowing.runs)
    assert "foreseen" not in first
    assert "| tasks | 7, of which 4 are foreseen: not submitted yet |" in second


@task
def passes(number: int) -> int:
    assert gate.wait(SECONDS)
    return number


def at_a_gate() -> int:
    """A task waits at the gate; when it has passed, the total is submitted."""
    number = passes.submit(6).result()
    return int(total.submit(number).result())


def test_a_scheduler_mends_a_plan_whose_tasks_are_still_to_come(cluster: Any) -> None:
    """Each task is believed to take 5 ms; one is late for as long as it takes to be noticed."""
    session = cluster.scheduler.plugins["orchestrator"].session
    knowing = Knowing(lambda graph, found: in_turns(graph, found, 0.005))
    gate.open()
    assert run(cluster, knowing, at_a_gate) == 6
    gate.close()
    before = session.counters.replans
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(run, cluster, knowing, at_a_gate)
        try:
            until(lambda: session.counters.replans > before, "mended")
        finally:
            gate.open()
        assert second.result(SECONDS) == 6
    assert session.counters.faults == 0
    assert session.mode == "director"
