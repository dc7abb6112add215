"""Random graphs, clusters and instances for tests; the one door to what the tests share.

`graphs` and `clusters` draw everything that these types may hold. `random_instance` and
`instances` give feasible instances of chosen constraints; `serial_schedule` schedules them.
"""

from __future__ import annotations

import math
import string
from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster, Link, Worker
from orchestrator_core.graph.task import Edge, Mode, Task
from orchestrator_core.graph.task_graph import TaskGraph
from tests.by_hand import memory_peak, serial_schedule, unit_edges
from tests.random_instances import FLAGS, random_instance, with_memory

__all__ = [
    "FLAGS",
    "clusters",
    "graphs",
    "instances",
    "memory_peak",
    "random_instance",
    "serial_schedule",
    "unit_edges",
    "with_memory",
]

NAMES = st.one_of(
    st.text(string.ascii_lowercase + string.digits + "_-", min_size=1, max_size=12),
    st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=8),
    st.sampled_from(
        ["<script>alert(1)</script>", "'; DROP TABLE runs; --", "(x, 1)", "größe", "任务"]
    ),
)
"""Names that are accepted: words, any text without control characters, and hostile-looking text."""

RESOURCES = ("GPU", "licence", "disk")

_seconds = st.floats(0, 1e6)
_sizes = st.floats(0, 1e12)


def amounts() -> st.SearchStrategy[Mapping[str, float]]:
    return st.dictionaries(st.sampled_from(RESOURCES), st.sampled_from([0.5, 1, 2]), max_size=2)


def _modes() -> st.SearchStrategy[Mode]:
    return st.builds(
        Mode,
        name=NAMES,
        threads=st.integers(1, 8),
        memory=_sizes,
        resources=amounts(),
        seconds=st.none() | _seconds,
        eligible=st.none() | st.lists(NAMES, min_size=1, max_size=2).map(tuple),
        consumes=amounts(),
    )


def _checkpoints() -> st.SearchStrategy[tuple[float, ...]]:
    fractions = st.floats(0.01, 0.99)
    return st.lists(fractions, max_size=3, unique=True).map(lambda points: tuple(sorted(points)))


@st.composite
def tasks(draw: st.DrawFn, name: str) -> Task:
    """Any task of that name."""
    common: dict[str, Any] = {
        "name": name,
        "kind": draw(NAMES | st.just("")),
        "output_bytes": draw(_sizes),
        "release": draw(_seconds),
        "deadline": draw(st.none() | _seconds),
        "due": draw(st.none() | _seconds),
        "weight": draw(st.floats(0, 10)),
        "count": draw(st.integers(1, 4)),
        "checkpoints": draw(_checkpoints()),
        "features": draw(amounts()),
    }
    if draw(st.booleans()):
        return Task(modes=tuple(draw(st.lists(_modes(), min_size=1, max_size=3))), **common)
    only = draw(_modes())
    fields = {f: getattr(only, f) for f in Mode.__dataclass_fields__ if f != "name"}
    return Task(**common, **fields)


@st.composite
def graphs(draw: st.DrawFn, max_tasks: int = 8) -> TaskGraph:
    """Any task graph of 0 to `max_tasks` tasks."""
    names = draw(st.lists(NAMES, max_size=max_tasks, unique=True))
    members = [draw(tasks(name)) for name in names]
    edges = []
    for j in range(1, len(members)):
        for i in draw(st.sets(st.integers(0, j - 1), max_size=3)):
            a, b = members[i], members[j]
            paired = range(1, a.count // b.count + 1)
            n = draw(st.sampled_from([a.count, *paired]))
            edges.append(Edge(a.name, b.name, draw(st.none() | _sizes), n))
    order = draw(st.permutations(members))
    return TaskGraph.from_tasks(order, edges)


def links() -> st.SearchStrategy[Link]:
    rates = st.just(math.inf) | st.floats(1e-3, 1e12)
    return st.builds(Link, latency=st.floats(0, 10), bandwidth=rates, encode_rate=rates)


@st.composite
def clusters(draw: st.DrawFn, max_workers: int = 5) -> Cluster:
    """Any cluster of 1 to `max_workers` workers."""
    names = draw(st.lists(NAMES, min_size=1, max_size=max_workers, unique=True))
    workers = [
        Worker(
            name=name,
            kind=draw(st.sampled_from(["cpu", "gpu", "worker"])),
            threads=draw(st.integers(1, 8)),
            memory=draw(st.just(math.inf) | st.floats(1, 1e15)),
            resources=draw(amounts()),
            speed=draw(st.floats(1e-3, 1e3)),
            price=draw(st.floats(0, 100)),
        )
        for name in names
    ]
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names))
    table = draw(st.dictionaries(pairs, links(), max_size=4))
    return Cluster(workers, link=draw(links()), links=table, stock=draw(amounts()))


@st.composite
def instances(
    draw: st.DrawFn, /, max_tasks: int = 12, max_workers: int = 4, **constraints: Any
) -> Instance:
    """A feasible instance; `constraints` are those of `random_instance`, each given or drawn.

    A constraint that is not named is left out; ``any_constraints=True`` draws which are in.
    """
    if constraints.pop("any_constraints", False):
        for flag in FLAGS:
            constraints.setdefault(flag, draw(st.booleans()))
    size, workers = draw(st.integers(1, max_tasks)), draw(st.integers(1, max_workers))
    seed = draw(st.integers(0, 2**32 - 1))
    return random_instance(np.random.default_rng(seed), size, workers, **constraints)
