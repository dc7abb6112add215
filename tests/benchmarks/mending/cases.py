"""Cases: a graph whose costs are believed to be other than they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats
from tests.benchmarks.live.cluster import MIXED
from tests.benchmarks.live.made import made
from tests.benchmarks.live.workload import Workload
from tests.benchmarks.plan.instances import SHAPES

SPEEDS = np.array(MIXED)
OVERHEAD, LATENCY, BANDWIDTH = 0.004, 0.005, 150e6
TWICE = (0, 1)


@dataclass(frozen=True)
class Case:
    """Attributes:
    mistake: in a word. believed: the instance as it is planned. seconds: (modes, workers) that
        the tasks really take.
    """

    mistake: str
    believed: Instance
    seconds: Floats


def cases() -> Iterator[Case]:
    """Each mistake with each graph."""
    for true in _graphs():
        n, w = true.seconds.shape
        for order in ((3, 2, 1, 0), (1, 0, 2, 3), (0, 3, 2, 1), (2, 1, 0, 3)):
            yield _believing(true, "wrong speeds", SPEEDS / SPEEDS[list(order)])
        for seed in TWICE:
            rng = np.random.default_rng(seed)
            yield _believing(true, "noise", np.exp(0.4 * rng.standard_normal((n, 1))))
            yield _really(true, "jitter", np.exp(0.15 * rng.standard_normal((n, w))))
            yield _really(true, "a straggler", _straggler(true, rng))
            kinds = np.exp(rng.normal(0, 0.8, len(true.graph.kinds)))
            yield _really(true, "wrong kinds", kinds[true.graph.kind_of][:, None])
            slowed = np.where(np.arange(w) == 3 * seed, 4.0, 1.0)
            yield _really(true, "a slowed worker", slowed * np.exp(0.1 * rng.normal(size=(n, 1))))


def _believing(true: Instance, mistake: str, factors: Floats) -> Case:
    believed = Instance(true.graph, true.cluster, true.seconds * factors)
    return Case(mistake, believed, true.seconds)


def _really(true: Instance, mistake: str, factors: Floats) -> Case:
    return Case(mistake, true, true.seconds * factors)


def _straggler(true: Instance, rng: np.random.Generator) -> Floats:
    """One task, of more than median length but none of the longest, takes ten times as long."""
    n = len(true.seconds)
    factors = np.ones((n, 1))
    factors[np.argsort(true.seconds[:, 0])[rng.integers(n // 2, n * 9 // 10)]] = 10.0
    return factors


def _graphs() -> Iterator[Instance]:
    for workload in made():
        if workload.name != "reduction":  # which is about memory
            yield instance_of(workload)
    for seed in range(8):
        rng, n = np.random.default_rng(seed), 60 + 20 * (seed % 4)
        pairs = list(SHAPES.values())[seed % len(SHAPES)](n, rng)
        size = rng.gamma(1, 1, len(pairs)) * rng.choice([1e4, 3e6, 2e7])
        edges = [(a, b, float(each)) for (a, b), each in zip(pairs, size, strict=True)]
        kinds = [f"kind{k}" for k in rng.integers(0, n // 15, n)]
        yield instance_from(rng.gamma(1.5, 0.2, n) + 0.02, edges, kinds)


def instance_of(workload: Workload) -> Instance:
    """The workload on four workers as the live benchmark has them."""
    keys = list(workload.steps)
    place = {key: i for i, key in enumerate(keys)}
    edges = [
        (place[each], place[key], float(workload.steps[each].nbytes))
        for key in keys
        for each in workload.steps[key].inputs
    ]
    seconds = [workload.steps[key].seconds for key in keys]
    return instance_from(np.array(seconds), edges, [str(key[0]) for key in keys])  # type: ignore[index]


def instance_from(
    seconds: Floats | Sequence[float],
    edges: list[tuple[int, int, float]],
    kinds: Sequence[str],
) -> Instance:
    """Tasks that take these seconds at speed 1, (producer, consumer, bytes) and their kinds."""
    way = 1.0 - np.eye(len(SPEEDS))
    plain = Instance.from_arrays(
        np.asarray(seconds)[:, None] / SPEEDS + OVERHEAD,
        edges,
        latency=LATENCY * way,
        seconds_per_byte=way / BANDWIDTH,
    )
    names = sorted(set(kinds))
    kind_of = np.array([names.index(kind) for kind in kinds], dtype=np.int64)
    kind_of.flags.writeable = False
    graph = replace(plain.graph, kinds=tuple(names), kind_of=kind_of)
    return Instance(graph, plain.cluster, plain.seconds)
