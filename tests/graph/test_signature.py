"""Signatures: equal for the same thing under other names, different for anything else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.graph import Cluster, Edge, Link, Mode, Task, TaskGraph, Worker
from orchestrator_core.graph.refine import Refiner, levels
from orchestrator_core.graph.signature import Signature, cluster_signature, graph_signature
from tests.graph import shapes
from tests.strategies import clusters, graphs

SHAPES = {
    "nothing": (0, []),
    "independent tasks": (50, []),
    "a chain": (300, [(i, i + 1) for i in range(299)]),
    "branches": shapes.branches(40, 3),
    "fork-joins": shapes.fork_joins(10, 12),
    "a reduction": shapes.tree_reduction(70, 4),
    "a butterfly": shapes.butterfly(5),
    "a stencil": shapes.stencil(12, 9, periodic=False),
    "a periodic stencil": shapes.stencil(12, 9, periodic=True),
    "a shuffle": shapes.shuffle(20, 15),
    "all but their own": shapes.all_but_own(9),
    "cycles": shapes.cycles(3, 5, 3, 4),
    "a random graph": shapes.random_dag(120, 300, 1),
    "a sparse random graph": shapes.random_dag(120, 80, 2),
    "CFI": shapes.cai_furer_immerman(twisted=True),
}


def assert_isomorphic(one: TaskGraph, two: TaskGraph) -> None:
    """The tasks at each canonical place are alike, and so are all edges."""
    a, b = graph_signature(one), graph_signature(two)
    assert a.digest == b.digest
    there = dict(zip(a.order.tolist(), b.order.tolist(), strict=True))
    for i, j in there.items():
        plain = {"name": "", "seconds": None, "output_bytes": 0.0}
        assert replace(_timeless(one.task(i)), **plain) == replace(_timeless(two.task(j)), **plain)
    assert {(there[p], there[c], n) for p, c, n in _edges(one)} == set(_edges(two))


def _timeless(task: Task) -> Task:
    """Modes without their seconds; `eligible` as a set."""
    modes = tuple(
        replace(mode, seconds=None, eligible=_sorted(mode.eligible)) for mode in task.modes
    )
    return replace(task, modes=modes, eligible=_sorted(task.eligible))


def _sorted(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(sorted(set(names)))


def _edges(graph: TaskGraph) -> Iterator[tuple[int, int, int]]:
    columns = (graph.producer, graph.consumer, graph.multiplicity)
    return zip(*(column.tolist() for column in columns), strict=True)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", SHAPES)
def test_a_graph_is_recognised_under_other_names_and_in_another_order(name: str, seed: int) -> None:
    shape = SHAPES[name]
    assert_isomorphic(shapes.graph_of(shape), shapes.graph_of(shape, shuffled=seed))


@pytest.mark.parametrize("name", SHAPES)
def test_canonical_places_are_a_permutation(name: str) -> None:
    signature = graph_signature(shapes.graph_of(SHAPES[name], shuffled=1))
    n = len(signature.order)
    assert signature.order[signature.place].tolist() == list(range(n))


def test_shapes_do_not_share_a_digest() -> None:
    digests = {graph_signature(shapes.graph_of(shape)).digest for shape in SHAPES.values()}
    assert len(digests) == len(SHAPES)


@given(graphs(), st.randoms(use_true_random=False))
def test_any_graph_is_recognised_renamed(graph: TaskGraph, random: Random) -> None:
    members, edges = list(graph.tasks()), list(graph.edges())
    random.shuffle(members)
    random.shuffle(edges)
    name = {task.name: f"renamed {i}" for i, task in enumerate(members)}
    renamed = TaskGraph.from_tasks(
        [
            replace(
                task,
                name=name[task.name],
                eligible=task.eligible and tuple(reversed(task.eligible)),
                seconds=None if task.modes else 1.0,
            )
            for task in members
        ],
        [Edge(name[e.producer], name[e.consumer], 7.0, e.multiplicity) for e in edges],
    )
    assert_isomorphic(graph, renamed)


@pytest.mark.parametrize("known", [True, False])
def test_symmetric_tasks_stand_by_their_seconds_then_by_their_names(known: bool) -> None:
    """Four equal branches x -> y: a schedule stored for one run should fit the next one's."""

    def branches(order: list[str]) -> TaskGraph:
        builder = TaskGraph.build()
        for name in order:
            seconds = 10.0 * int(name) if known else None
            builder.task(f"x{name}", kind="x", seconds=1.0 if known else None)
            builder.task(f"y{name}", kind="y", seconds=seconds, after=[f"x{name}"])
        return builder.done()

    one, two = branches(["1", "2", "3", "4"]), branches(["3", "1", "4", "2"])
    a, b = graph_signature(one), graph_signature(two)
    assert a.digest == b.digest
    assert [one.names[k] for k in a.order] == [two.names[k] for k in b.order]
    first = "4" if known else "1"
    assert {one.names[k] for k in a.order[:2]} == {f"x{first}", f"y{first}"}


def diamond(**changes: object) -> TaskGraph:
    """a -> b, c -> d; `changes` are fields of b."""
    builder = TaskGraph.build()
    builder.task("a", kind="load", count=2)
    builder.task("b", **{"kind": "work", "count": 2, **changes})  # type: ignore[arg-type]
    builder.task("c", kind="work", count=2)
    builder.task("d", kind="save")
    builder.edge("a", "b")
    builder.edge("a", "c")
    builder.edge("b", "d", multiplicity=2)
    builder.edge("c", "d", multiplicity=2)
    return builder.done()


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "other"},
        {"threads": 2},
        {"memory": 1.0},
        {"resources": {"GPU": 1}},
        {"consumes": {"licence": 1}},
        {"eligible": ["gpu"]},
        {"release": 1.0},
        {"deadline": 9.0},
        {"due": 9.0},
        {"weight": 2.0},
        {"checkpoints": [0.5]},
        {"modes": [Mode(), Mode(threads=2)]},
        {"modes": [Mode(threads=2), Mode()]},
        {"modes": [Mode(name="fast")]},
    ],
    ids=str,
)
def test_every_field_that_matters_changes_the_digest(change: dict[str, object]) -> None:
    assert graph_signature(diamond()).digest != graph_signature(diamond(**change)).digest


def test_counts_and_multiplicities_change_the_digest() -> None:
    def pair(count: int, multiplicity: int) -> TaskGraph:
        members = [Task("a", kind="k", count=count), Task("b", kind="k")]
        return TaskGraph.from_tasks(members, [Edge("a", "b", multiplicity=multiplicity)])

    found = [pair(4, 1), pair(4, 2), pair(5, 1), pair(5, 2)]
    assert len({graph_signature(graph).digest for graph in found}) == 4


def test_the_order_of_modes_matters_since_schedules_name_modes_by_position() -> None:
    one, two = Mode(), Mode(threads=2)
    forth, back = diamond(modes=[one, two]), diamond(modes=[two, one])
    assert graph_signature(forth).digest != graph_signature(back).digest


def test_what_is_learned_anew_does_not_change_the_digest() -> None:
    changed = diamond(seconds=3.0, output_bytes=1e9)
    assert graph_signature(changed).digest == graph_signature(diamond()).digest


@pytest.mark.parametrize("name", ["branches", "a butterfly", "cycles", "a random graph"])
def test_one_edge_more_or_less_or_elsewhere_changes_the_digest(name: str) -> None:
    n, edges = SHAPES[name]
    rng = np.random.default_rng(3)
    digest = graph_signature(shapes.graph_of((n, edges))).digest
    before = nx.DiGraph(edges)
    for _ in range(10):
        k = int(rng.integers(len(edges)))
        fewer = [*edges[:k], *edges[k + 1 :]]
        a, b = sorted(rng.choice(n, 2, replace=False).tolist())
        for other in (fewer, *([[*fewer, (a, b)]] if (a, b) not in edges else [])):
            same = nx.is_isomorphic(before, nx.DiGraph(other))
            found = graph_signature(shapes.graph_of((n, other))).digest
            assert (found == digest) == same


TWINS = [
    (shapes.cycles(3, 3), shapes.cycles(6)),
    (shapes.cycles(4, 4, 4), shapes.cycles(4, 8)),
    (shapes.cai_furer_immerman(twisted=False), shapes.cai_furer_immerman(twisted=True)),
]


@pytest.mark.parametrize(("one", "two"), TWINS)
def test_twins_that_refinement_takes_for_equal_have_different_digests(
    one: shapes.Shape, two: shapes.Shape
) -> None:
    first, second = shapes.graph_of(one), shapes.graph_of(two)
    assert _stable_colours(first) == _stable_colours(second), "no twins, so nothing is tested"
    assert graph_signature(first).digest != graph_signature(second).digest


def _stable_colours(graph: TaskGraph) -> list[int]:
    n, e = len(graph), graph.n_edges
    weight = np.ones(e, dtype=np.uint64)
    refine = Refiner(graph.producer, graph.consumer, weight, levels(graph))
    colours = refine(np.zeros(n, dtype=np.uint64), np.zeros(n, dtype=np.int64))
    return sorted(np.unique(colours, return_counts=True)[1].tolist())


@given(st.integers(0, 10_000), st.integers(2, 7), st.integers(1, 9))
def test_equal_digests_mean_isomorphic_and_back(seed: int, n: int, e: int) -> None:
    """Small graphs of one kind, judged by networkx."""
    one, two = shapes.random_dag(n, e, seed), shapes.random_dag(n, e, seed + 1)
    graphs_ = []
    for _, edges in (one, two):
        graph = nx.DiGraph(edges)
        graph.add_nodes_from(range(n))
        graphs_.append(graph)
    digests = {graph_signature(shapes.graph_of(shape)).digest for shape in (one, two)}
    assert (len(digests) == 1) == nx.is_isomorphic(*graphs_)


def test_a_large_graph_is_recognised() -> None:
    """10,000 tasks, 30,000 edges of one kind; and a chain as deep as that."""
    wide, deep = shapes.random_dag(10_000, 30_000, 5), (10_000, [(i, i + 1) for i in range(9_999)])
    for shape in (wide, deep):
        digests = {graph_signature(shapes.graph_of(shape, shuffled=s)).digest for s in (None, 1)}
        assert len(digests) == 1


def test_hopeless_symmetry_ends_and_still_gives_a_whole_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With no effort allowed, the order is as inserted: a miss, never a mistake."""
    monkeypatch.setattr("orchestrator_core.graph.symmetry._LEAST_EFFORT", 0)
    monkeypatch.setattr("orchestrator_core.graph.symmetry._EFFORT_PER_EDGE", 0)
    shape = shapes.butterfly(4)
    found = [graph_signature(shapes.graph_of(shape, shuffled=s)) for s in range(3)]
    assert len({signature.digest for signature in found}) == 3
    assert all(sorted(s.order.tolist()) == list(range(shape[0])) for s in found)


PRINT_DIGESTS = """
from orchestrator_core.graph import Cluster, TaskGraph, Worker
from orchestrator_core.graph.signature import cluster_signature, graph_signature
g = TaskGraph.build()
for i in range(5):
    g.task(f"t{i}", kind=f"größe{i % 2}", resources={"GPU": 1, "disk": 2}, eligible=["b", "a"])
g.edge("t0", "t3"); g.edge("t1", "t3"); g.edge("t3", "t4")
print(graph_signature(g.done()).digest)
print(cluster_signature(Cluster([Worker("w"), Worker("v")])).digest)
"""


def test_digests_are_the_same_in_every_process() -> None:
    def digests(seed: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", PRINT_DIGESTS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    first = digests("0")
    assert len(first.split()) == 2
    assert first == digests("1") == digests("random")


def renamed(cluster: Cluster, seed: int) -> Cluster:
    """The same workers and links under other names, in another order."""
    order = np.random.default_rng(seed).permutation(len(cluster))
    return Cluster.from_matrices(
        [replace(cluster.workers[k], name=f"renamed {i}") for i, k in enumerate(order)],
        latency=cluster.latency[np.ix_(order, order)],
        seconds_per_byte=cluster.seconds_per_byte[np.ix_(order, order)],
        encode_seconds_per_byte=cluster.encode_seconds_per_byte[np.ix_(order, order)],
        stock=cluster.stock,
    )


def racks(*sizes: int) -> Cluster:
    """Equal workers; a link inside a rack is faster than one between racks."""
    rack = np.repeat(np.arange(len(sizes)), sizes)
    apart = rack[:, None] != rack[None, :]
    return Cluster.from_matrices([Worker(f"w{i}") for i in range(len(rack))], latency=1.0 + apart)


def ring(n: int) -> Cluster:
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return Cluster.from_matrices(
        [Worker(f"w{i}") for i in range(n)], latency=np.minimum(apart, n - apart)
    )


def assert_same_cluster(one: Cluster, two: Cluster) -> None:
    a, b = cluster_signature(one), cluster_signature(two)
    assert a == b
    for name in ("latency", "seconds_per_byte", "encode_seconds_per_byte"):
        here, there = getattr(one, name), getattr(two, name)
        assert np.array_equal(here[np.ix_(a.order, a.order)], there[np.ix_(b.order, b.order)])
    for i, j in zip(a.order.tolist(), b.order.tolist(), strict=True):
        assert replace(one.workers[i], name="") == replace(two.workers[j], name="")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "cluster", [racks(8), racks(3, 3, 3), racks(2, 3, 2), ring(9)], ids=["1", "3x3", "232", "ring"]
)
def test_a_symmetric_cluster_is_recognised(cluster: Cluster, seed: int) -> None:
    assert_same_cluster(cluster, renamed(cluster, seed))


@given(clusters(), st.integers(0, 99))
def test_any_cluster_is_recognised(cluster: Cluster, seed: int) -> None:
    assert_same_cluster(cluster, renamed(cluster, seed))


def test_clusters_that_differ_have_different_digests() -> None:
    worker = Worker("w", kind="cpu", threads=2, memory=8e9, speed=1.5, price=1.0)
    others = [
        replace(worker, kind="gpu"),
        replace(worker, threads=3),
        replace(worker, memory=9e9),
        replace(worker, resources={"GPU": 1}),
        replace(worker, speed=2.0),
        replace(worker, price=2.0),
    ]
    both = [worker, replace(worker, name="v")]
    found = [
        Cluster([worker]),
        *(Cluster([other]) for other in others),
        Cluster([worker], stock={"licence": 1}),
        Cluster(both),
        Cluster(both, Link(latency=1.0)),
        Cluster(both, Link(bandwidth=1e6)),
        Cluster(both, Link(encode_rate=1e6)),
        racks(2, 2, 2),
        racks(3, 3),
    ]
    assert len({cluster_signature(cluster).digest for cluster in found}) == len(found)


def test_twin_clusters_are_told_apart() -> None:
    """Each worker has two near neighbours, in two rings of three or in one of six."""
    near = np.zeros((2, 6, 6), dtype=bool)
    for i in range(6):
        near[0, i, (i + 1) % 6] = near[1, i, i // 3 * 3 + (i + 1) % 3] = True
    workers = [Worker(f"w{i}") for i in range(6)]
    found = [Cluster.from_matrices(workers, latency=2.0 - (n | n.T)) for n in near]
    assert len({cluster_signature(cluster).digest for cluster in found}) == 2


def test_a_worker_that_a_graph_names_is_told_apart() -> None:
    """`t` may run on `a` only: a plan for it must not be mapped to the same cluster's `b`."""
    graph = TaskGraph.from_tasks([Task("t", eligible=("a",))])
    here, there = Cluster([Worker("a"), Worker("b")]), Cluster([Worker("b"), Worker("a")])
    one, two = cluster_signature(here, graph), cluster_signature(there, graph)
    assert one.digest == two.digest
    assert [here.names[k] for k in one.order] == [there.names[k] for k in two.order]
    other = Cluster([Worker("c"), Worker("b")])
    assert cluster_signature(other, graph).digest != one.digest
    assert cluster_signature(other).digest == cluster_signature(here).digest


def test_signatures_compare_by_what_they_sign() -> None:
    one = Signature("ab", np.array([0, 1]))
    assert one == Signature("ab", np.array([1, 0]))
    assert one != Signature("cd", one.order)
    assert len({one, Signature("ab", np.array([1, 0]))}) == 1
