"""Graphs of well-known shapes as (number of tasks, edges), and the same graph under other names."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from orchestrator_core.graph.task_graph import TaskGraph

Shape = tuple[int, list[tuple[int, int]]]


def branches(width: int, length: int) -> Shape:
    """A source, `width` equal chains, a sink."""
    n, edges = width * length + 2, []
    for i in range(width):
        chain = [0, *range(1 + i * length, 1 + (i + 1) * length), n - 1]
        edges += pairwise(chain)
    return n, edges


def fork_joins(stages: int, width: int) -> Shape:
    edges, last = [], 0
    for _ in range(stages):
        join = last + width + 1
        for middle in range(last + 1, join):
            edges += [(last, middle), (middle, join)]
        last = join
    return last + 1, edges


def tree_reduction(leaves: int, arity: int) -> Shape:
    """Equal maps, summed by a tree."""
    edges, level, n = [], list(range(leaves)), leaves
    while len(level) > 1:
        above = []
        for k in range(0, len(level), arity):
            edges += [(task, n) for task in level[k : k + arity]]
            above.append(n)
            n += 1
        level = above
    return n, edges


def butterfly(stages: int) -> Shape:
    """The fast Fourier transform's."""
    m, edges = 2**stages, []
    for s in range(stages):
        for i in range(m):
            edges += [(s * m + i, (s + 1) * m + i), (s * m + i, (s + 1) * m + (i ^ (1 << s)))]
    return (stages + 1) * m, edges


def stencil(width: int, steps: int, *, periodic: bool) -> Shape:
    edges = []
    for s in range(steps - 1):
        for i in range(width):
            for j in (i - 1, i, i + 1):
                if periodic or 0 <= j < width:
                    edges.append((s * width + i, (s + 1) * width + j % width))
    return width * steps, edges


def shuffle(maps: int, reduces: int) -> Shape:
    """Each reduce needs all maps."""
    return maps + reduces, [(i, maps + j) for i in range(maps) for j in range(reduces)]


def all_but_own(n: int) -> Shape:
    return 2 * n, [(i, n + j) for i in range(n) for j in range(n) if i != j]


def cycles(*lengths: int) -> Shape:
    """Cycles, each as a graph of two levels: task i feeds i' and its neighbour's."""
    n, edges = 0, []
    for length in lengths:
        for i in range(length):
            edges += [(n + i, n + length + i), (n + i, n + length + (i + 1) % length)]
        n += 2 * length
    return n, edges


def cai_furer_immerman(*, twisted: bool) -> Shape:
    """Incidences of the CFI graph over K4: refinement alone cannot tell twisted from plain.

    Cai, Furer and Immerman (1992). A gadget for each vertex: a task for each even subset of its
    three edges, and for each edge a pair of ports (inside, outside the subset); the ports of the
    two ends of an edge are linked straight, or crossed on one twisted edge. An undirected link of
    two tasks becomes a task that both of them feed.
    """
    vertices = range(4)
    task: dict[object, int] = {}

    def number(name: object) -> int:
        return task.setdefault(name, len(task))

    links = []
    for v in vertices:
        ends = [(v, u) for u in vertices if u != v]
        for bits in range(8):
            inside = [bool(bits >> k & 1) for k in range(3)]
            if sum(inside) % 2 == 0:
                links += [
                    (number(("middle", v, bits)), number(("port", end, chosen)))
                    for end, chosen in zip(ends, inside, strict=True)
                ]
    for v in vertices:
        for u in range(v):
            for chosen in (False, True):
                crossed = twisted and (u, v) == (0, 1)
                a = number(("port", (v, u), chosen))
                links.append((a, number(("port", (u, v), chosen != crossed))))
    n = len(task)
    return n + len(links), [(end, n + k) for k, link in enumerate(links) for end in link]


def random_dag(n: int, e: int, seed: int) -> Shape:
    rng = np.random.default_rng(seed)
    pairs = {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(e)}
    return n, sorted(pairs)


def graph_of(shape: Shape, shuffled: int | None = None, kinds: Iterable[str] = ()) -> TaskGraph:
    """The shape as a graph; with a seed, under other names and in another order."""
    n, edges = shape
    place = np.arange(n)
    if shuffled is not None:
        place = np.random.default_rng(shuffled).permutation(n)
    kind = list(kinds) or ["task"] * n
    ends = place[np.array(edges, dtype=np.int64).reshape(-1, 2)]
    if shuffled is not None:
        np.random.default_rng(shuffled + 1).shuffle(ends)
    return TaskGraph.from_columns(
        [f"{'task' if shuffled is None else 'other'}-{i}" for i in range(n)],
        kinds=[kind[i] for i in np.argsort(place)],
        producer=ends[:, 0],
        consumer=ends[:, 1],
    )
