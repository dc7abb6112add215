"""Instances for the planner's benchmarks: random graphs, and files of public benchmark sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.formats import read_cluster, read_workflow
from orchestrator_core.graph.task_graph import TaskGraph


def related(graph: TaskGraph, workers: int = 8, ccr: float = 1.0, seed: int = 7) -> Instance:
    """A recorded workflow on related workers: speeds and links uniform in [0.5, 2], two digits.

    Bytes are scaled so that the mean transfer takes `ccr` mean durations.
    """
    rng = np.random.default_rng(seed)
    speed = np.round(rng.uniform(0.5, 2, workers), 2)
    bandwidth = rng.uniform(0.5, 2, (workers, workers))
    per_byte = 1 / np.round((bandwidth + bandwidth.T) / 2, 2)
    np.fill_diagonal(per_byte, 0.0)
    cost = graph.mode_seconds
    seconds = np.maximum(1, np.rint(1000 * np.maximum(cost, 0.01)[:, None] / speed))
    nbytes, total = graph.nbytes, graph.nbytes.sum()
    scale = ccr * seconds.mean() * len(nbytes) / total if total > 0 else 0.0
    edges = list(
        zip(
            graph.producer.tolist(), graph.consumer.tolist(), (nbytes * scale).tolist(), strict=True
        )
    )
    return Instance.from_arrays(seconds, edges, latency=0.0, seconds_per_byte=per_byte)


def layered(tasks: int, workers: int = 8, ccr: float = 1.0, seed: int = 1) -> Instance:
    """A dense random layered graph on unrelated workers: the hard class for bounds.

    About sqrt(n) layers, 1 to 4 producers each from the two layers before.
    """
    return random("layered", tasks, workers, ccr, seed)


def random(
    shape: str, tasks: int, workers: int, ccr: float, seed: int, same_ratio: bool = False
) -> Instance:
    """A random graph of one of the `SHAPES`, with durations, links and bytes of wide spread.

    Args:
        same_ratio: workers are related, so that one is faster than another by the same factor for
            all tasks; otherwise the factor depends on the kind of the task.
    """
    rng = np.random.default_rng(seed)
    pairs = SHAPES[shape](tasks, rng)
    base = rng.gamma(2, 50, tasks) + 5
    kinds = 1 if same_ratio else max(4, tasks // 10)
    kind = rng.integers(0, kinds, tasks)
    speed = rng.uniform(0.5, 1.5, (kinds, workers))
    seconds = np.maximum(1, np.rint(base[:, None] * speed[kind]))
    nbytes = rng.gamma(2, 1, len(pairs))
    nbytes *= ccr * seconds.mean() / nbytes.mean()
    bandwidth = rng.uniform(0.5, 1.5, (workers, workers))
    per_byte = 2 / (bandwidth + bandwidth.T)
    np.fill_diagonal(per_byte, 0.0)
    edges = [(a, b, float(size)) for (a, b), size in zip(pairs, nbytes, strict=True)]
    return Instance.from_arrays(seconds, edges, latency=1.0, seconds_per_byte=per_byte)


Pairs = list[tuple[int, int]]


def _layers(n: int, rng: np.random.Generator) -> Pairs:
    depth = max(2, round(np.sqrt(n) * rng.uniform(0.8, 1.4)))
    layer = np.sort(rng.integers(0, depth, n))
    members = [np.flatnonzero(layer == k) for k in range(depth)]
    members = [group for group in members if len(group)]
    pairs: set[tuple[int, int]] = set()
    for k in range(1, len(members)):
        pool = np.concatenate(members[max(0, k - 2) : k])
        for consumer in members[k]:
            size = min(len(pool), int(rng.integers(1, 5)))
            pairs |= {(int(a), int(consumer)) for a in rng.choice(pool, size, replace=False)}
    return sorted(pairs)


def _forks(n: int, rng: np.random.Generator) -> Pairs:
    """Forks of 3 to 8 that are joined again, one after the other."""
    pairs: Pairs = []
    hub = 0
    while hub + 1 < n:
        join = min(n - 1, hub + 1 + int(rng.integers(3, 9)))
        inner = range(hub + 1, join)
        pairs += [(hub, t) for t in inner] + [(t, join) for t in inner] or [(hub, join)]
        hub = join
    return pairs


def _erdos(n: int, rng: np.random.Generator) -> Pairs:
    """Each pair is an edge with the same probability, three for each task on average."""
    return [(a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < 6 / (n - 1)]


def _in_tree(n: int, rng: np.random.Generator) -> Pairs:
    """Each task but the last has one consumer, among the six that come next."""
    return [(t, t + 1 + int(rng.integers(0, min(6, n - 1 - t)))) for t in range(n - 1)]


SHAPES: dict[str, Callable[[int, np.random.Generator], Pairs]] = {
    "layered": _layers,
    "fork-join": _forks,
    "erdos": _erdos,
    "in-tree": _in_tree,
}


def identical(path: Path, processors: int) -> Instance:
    """A graph without transfers on identical processors, as in the Standard Task Graph set."""
    workers = [Worker(f"p{k}") for k in range(processors)]
    return Instance.price(read_workflow(path), Cluster(workers))


def as_recorded(path: Path) -> Instance:
    """A project or job shop on the cluster that its file describes."""
    cluster = read_cluster(path)
    assert cluster is not None, f"{path} describes no resources"
    return Instance.price(read_workflow(path), cluster)
