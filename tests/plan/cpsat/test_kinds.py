from __future__ import annotations

import random

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Edge, Link, Task, TaskGraph, Worker
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.cpsat.kinds import Kind, kinds_of
from orchestrator_core.plan.cpsat.planner import CpSatPlanner
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.time_indexed import optimal_makespan
from tests.plan.asking import ask
from tests.plan.known import instance_of

FREE = Link()
SLOW = Link(latency=1, bandwidth=2)


def _two_kinds(rng: random.Random, inside: Link, between: Link) -> Instance:
    """Six tasks on two workers of a kind and one of another."""
    workers = [
        Worker("a0", kind="a", threads=2),
        Worker("a1", kind="a", threads=2),
        Worker("b", kind="b", speed=2),
    ]
    links = {("a0", "a1"): inside, ("a1", "a0"): inside}
    tasks = [Task(f"t{i}", seconds=2 * rng.randint(0, 3), output_bytes=2) for i in range(6)]
    edges = [Edge(f"t{i}", f"t{k}") for k in range(6) for i in range(k) if rng.random() < 0.3]
    return Instance.price(
        TaskGraph.from_tasks(tasks, edges), Cluster(workers, between, links=links)
    )


@pytest.mark.parametrize("between", [FREE, SLOW])
def test_kinds_keep_the_optimum(between: Link) -> None:
    """Two kinds, with and without transfers between them, against the time-indexed program."""
    for seed in range(15):
        instance = _two_kinds(random.Random(seed), FREE, between)
        assert [kind.slots for kind in kinds_of(instance).kinds] == [2, 0]
        found = ask(CpSatPlanner(), Brief(instance, Budget(seconds=60.0)))
        assert found.schedule is not None
        check_schedule(instance, found.schedule)
        optimum = optimal_makespan(instance, 1.0, round(found.schedule.makespan) + 1).makespan
        assert found.schedule.makespan == optimum, seed
        assert found.lower_bound == pytest.approx(optimum), seed


def test_there_and_back_is_as_good() -> None:
    instance = _two_kinds(random.Random(3), FREE, SLOW)
    kinds = kinds_of(instance)
    schedule = ask(CpSatPlanner(), Brief(instance, Budget(seconds=60.0))).schedule
    assert schedule is not None
    check_schedule(kinds.instance, kinds.merged(schedule))
    check_schedule(instance, kinds.restored(kinds.merged(schedule)))


def test_slots_are_what_fits_beside_each_other() -> None:
    tasks = [Task(f"t{i}", seconds=1, threads=2) for i in range(3)]
    kinds = kinds_of(instance_of(tasks, [Worker("w0", threads=5), Worker("w1", threads=5)]))
    assert kinds.kinds == (Kind((0, 1), 2),)
    assert kinds.instance.cluster.workers[0].threads == 8


@pytest.mark.parametrize(
    ("tasks", "fields", "link"),
    [
        ([Task("a", seconds=1), Task("b", seconds=1, threads=2)], {"threads": 2}, FREE),
        ([Task("a", seconds=1, memory=2)], {"memory": 4}, FREE),
        ([Task("a", seconds=1, resources={"GPU": 1})], {"resources": {"GPU": 1}}, FREE),
        ([Task("a", seconds=2, checkpoints=(0.5,))], {}, FREE),
        ([Task("a", seconds=1, output_bytes=2), Task("b", seconds=1)], {}, SLOW),
        ([Task("a", seconds=1, output_bytes=2), Task("b", seconds=1)], {}, Link(encode_rate=1)),
    ],
    ids=["threads", "memory", "resources", "checkpoints", "transfers", "encodings"],
)
def test_workers_with_more_to_say_stay_apart(
    tasks: list[Task], fields: dict[str, object], link: Link
) -> None:
    workers = [Worker(f"w{w}", **fields) for w in range(2)]  # type: ignore[arg-type]
    edges = [Edge("a", "b")] if len(tasks) > 1 and tasks[0].output_bytes else []
    instance = instance_of(tasks, workers, edges, link)
    assert kinds_of(instance).instance is instance


def test_what_is_sent_to_two_workers_of_a_kind_is_encoded_for_each() -> None:
    """The output of `a`, there after 1 s, is encoded until 2 s for one worker and until 3 s for the
    other; both consumers take 5 s. Encoded once, it would all end at 7 s."""
    tasks = [
        Task("a", seconds=1, output_bytes=1, eligible=("x",)),
        Task("b", seconds=5, count=2, eligible=("k",)),
    ]
    workers = [Worker("x"), Worker("k0", kind="k"), Worker("k1", kind="k")]
    encode = [[0.0, 1.0, 1.0], [0.0] * 3, [0.0] * 3]
    instance = Instance.price(
        TaskGraph.from_tasks(tasks, [Edge("a", "b")]),
        Cluster.from_matrices(workers, encode_seconds_per_byte=encode),
    )
    found = ask(CpSatPlanner(), Brief(instance, Budget(seconds=60.0)))
    assert found.schedule is not None
    check_schedule(instance, found.schedule)
    assert (found.schedule.makespan, found.lower_bound) == (8.0, 8.0)


def test_many_identical_processors_are_proven_at_once() -> None:
    """Sixty tasks of 1, 2 and 3 on seven workers: 120 / 7 is reached, rounded up."""
    tasks = [Task(f"t{i}", seconds=1 + i % 3) for i in range(60)]
    instance = instance_of(tasks, [Worker(f"w{w}") for w in range(7)])
    found = ask(CpSatPlanner(), Brief(instance, Budget(seconds=60.0)))
    assert found.lower_bound == 18.0
    assert found.schedule is not None
    assert found.schedule.makespan == 18.0
