"""Random tiny instances with whole numbers, every constraint drawn in some of them."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable, Iterator

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.graph import Cluster, Edge, Link, Mode, Task, TaskGraph, Worker

INFINITY = float("inf")


def tiny_instance(seed: int) -> Instance:
    """At most 6 task instances on 3 workers; may raise InfeasibleInstance where memory is drawn."""
    rng = random.Random(seed)
    limited, licences = rng.random() < 0.3, rng.random() < 0.2
    workers = [_worker(rng, w, limited) for w in range(rng.randint(1, 3))]
    tasks, edges, units = [], [], 0
    for i in range(rng.randint(2, 5)):
        count = rng.choice([1, 1, 1, 2, 3]) if units <= 3 else 1
        units += count
        tasks.append(_task(rng, i, count, limited, licences))
        edges += _edges(rng, tasks)
    stock = {"licence": rng.randint(len(tasks), 2 * len(tasks)) * 3} if licences else {}
    cluster = Cluster(workers, link=_link(rng), links=_links(rng, workers), stock=stock)
    return Instance.price(TaskGraph.from_tasks(tasks, edges), cluster)


def tiny_instances(seeds: Iterable[int]) -> Iterator[tuple[int, Instance]]:
    """Those of these seeds that are not refused at once."""
    for seed in seeds:
        with contextlib.suppress(InfeasibleInstance):
            yield seed, tiny_instance(seed)


def _worker(rng: random.Random, w: int, limited: bool) -> Worker:
    return Worker(
        name=f"w{w}",
        kind=rng.choice(["plain", "large"]),
        threads=rng.choice([1, 1, 2, 3]),
        memory=rng.randint(8, 14) if limited else INFINITY,
        resources={"GPU": rng.randint(1, 2)},
    )


def _link(rng: random.Random) -> Link:
    return Link(
        latency=rng.choice([0, 0, 1, 2]),
        bandwidth=rng.choice([1, 2, INFINITY]),
        encode_rate=rng.choice([1, 2, INFINITY, INFINITY]),
    )


def _links(rng: random.Random, workers: list[Worker]) -> dict[tuple[str, str], Link]:
    if len(workers) < 2 or rng.random() < 0.5:
        return {}
    a, b = rng.sample([worker.name for worker in workers], 2)
    return {(a, b): _link(rng)}


def _task(rng: random.Random, i: int, count: int, limited: bool, licences: bool) -> Task:
    output = 2 * rng.randint(0, 2)
    common = {
        "name": f"t{i}",
        "count": count,
        "output_bytes": output,
        "release": rng.randint(0, 3) if rng.random() < 0.2 else 0,
        "deadline": rng.randint(12, 25) if rng.random() < 0.2 else None,
        "checkpoints": (0.5,) if rng.random() < 0.2 else (),
        "eligible": ("plain", "w0") if rng.random() < 0.15 else None,
    }
    modes = tuple(_mode(rng, limited, licences) for _ in range(rng.choice([1, 1, 2])))
    return Task(modes=modes, **common)


def _mode(rng: random.Random, limited: bool, licences: bool) -> Mode:
    return Mode(
        threads=rng.choice([1, 1, 1, 2]),
        seconds=2 * rng.choice([0, 1, 1, 2, 3]),
        memory=rng.randint(0, 5) if limited else 0,
        resources={"GPU": rng.randint(0, 1)},
        consumes={"licence": rng.randint(0, 3)} if licences else {},
    )


def _edges(rng: random.Random, tasks: list[Task]) -> list[Edge]:
    """Edges into the last task."""
    consumer, found = tasks[-1], []
    for producer in tasks[:-1]:
        if rng.random() < 0.45:
            most = producer.count // consumer.count
            possible = [producer.count, *range(1, most + 1)]
            size = producer.output_bytes if rng.random() < 0.7 else min(2, producer.output_bytes)
            found.append(Edge(producer.name, consumer.name, size, rng.choice(possible)))
    return found
