"""Cluster: workers and links, what they mean in seconds, and what is refused."""

from __future__ import annotations

import math
import pickle
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from orchestrator_core.errors import InvalidCluster, InvalidFormat, InvalidInput
from orchestrator_core.graph import cluster as cluster_module
from orchestrator_core.graph.cluster import Cluster, Link, Worker
from orchestrator_core.graph.link import find_link
from tests.strategies import clusters

TWO = (Worker("a", kind="cpu"), Worker("b", kind="gpu"))


class TestValues:
    def test_links_cost_nothing_unless_told(self) -> None:
        cluster = Cluster(TWO)
        assert cluster.link("a", "b") == Link()
        assert cluster.transfer_seconds(0, 1, 1e9) == 0.0

    def test_a_link_in_seconds(self) -> None:
        cluster = Cluster(TWO, Link(latency=0.5, bandwidth=100.0, encode_rate=50.0))
        assert cluster.transfer_seconds(0, 1, 200.0) == 2.5
        assert cluster.encode_seconds_per_byte[0, 1] == 0.02
        assert cluster.link("a", "b") == Link(0.5, 100.0, 50.0)

    def test_nothing_travels_to_where_it_is(self) -> None:
        cluster = Cluster.from_matrices(TWO, latency=1.0, seconds_per_byte=2.0)
        assert cluster.transfer_seconds(1, 1, 5.0) == 0.0
        assert cluster.latency.tolist() == [[0.0, 1.0], [1.0, 0.0]]

    def test_names_beat_kinds_and_kinds_beat_the_default(self) -> None:
        workers = [Worker("a", kind="cpu"), Worker("b", kind="cpu"), Worker("c", kind="gpu")]
        cluster = Cluster(
            workers,
            Link(latency=9.0),
            {("cpu", "gpu"): Link(latency=2.0), ("a", "c"): Link(latency=1.0)},
        )
        assert cluster.latency.tolist() == [[0, 9, 1], [9, 0, 2], [1, 2, 0]]

    def test_a_pair_holds_in_both_directions_unless_the_reverse_is_given(self) -> None:
        both = Cluster(TWO, links={("a", "b"): Link(latency=3.0)})
        assert both.latency.tolist() == [[0, 3], [3, 0]]
        each = {("a", "b"): Link(latency=3.0), ("b", "a"): Link(latency=4.0)}
        assert Cluster(TWO, links=each).latency.tolist() == [[0, 3], [4, 0]]

    def test_kinds_in_order_of_appearance(self) -> None:
        workers = [Worker("a", kind="z"), Worker("b", kind="y"), Worker("c", kind="z")]
        cluster = Cluster(workers)
        assert cluster.kinds == ("z", "y")
        assert cluster.index == {"a": 0, "b": 1, "c": 2}
        assert repr(cluster) == "Cluster(3 workers of kinds z, y)"

    def test_it_cannot_change(self) -> None:
        cluster = Cluster(TWO)
        with pytest.raises(AttributeError, match="cannot change"):
            cluster.workers = ()
        with pytest.raises(ValueError, match="read-only"):
            cluster.latency[0, 1] = 1.0


class TestManyWorkers:
    """A link from each worker to each other: a thousand workers have a million of them."""

    def test_links_are_looked_up_once_for_workers_that_are_alike(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked_up = []

        def noted(source: Worker, target: Worker, *others: Any) -> Link:
            looked_up.append((source.kind, target.kind))
            return find_link(source, target, *others)

        monkeypatch.setattr(cluster_module, "find_link", noted)
        workers = [Worker(f"w{i}", kind="cpu" if i % 2 else "gpu") for i in range(40)]
        cluster = Cluster(workers, links={("cpu", "gpu"): Link(latency=2.0)})
        assert cluster.latency.sum() == 2 * 20 * 20 * 2.0
        assert len(looked_up) == 4

    def test_json_takes_little_more_memory_than_the_links(self) -> None:
        # Three matrices of 8 bytes an entry; an object for each link takes ten times as much.
        cluster = Cluster([Worker(f"w{i}") for i in range(100)], Link(latency=2.0))
        cluster.to_json()
        tracemalloc.start()
        cluster.to_json()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 100**2 * 5 * 24


class TestRoundTrips:
    @given(cluster=clusters())
    def test_json_and_pickle(self, cluster: Cluster) -> None:
        again = Cluster.from_json(cluster.to_json())
        assert again == cluster
        assert again.to_json() == cluster.to_json()
        assert hash(again) == hash(cluster)
        assert pickle.loads(pickle.dumps(cluster)) == cluster

    def test_numpy_numbers(self) -> None:
        worker = Worker("a", threads=np.int64(2), memory=np.float32(8), speed=np.float32(2))
        assert Cluster.from_json(Cluster([worker]).to_json()) == Cluster([worker])

    def test_clusters_that_differ_are_not_equal(self) -> None:
        assert Cluster(TWO) != Cluster(TWO, Link(latency=1.0))
        assert Cluster(TWO) != Cluster(TWO, stock={"credit": 1})
        assert Cluster(TWO) != Cluster(TWO[::-1])
        assert Cluster(TWO) != "a cluster"

    GOOD = Cluster(TWO, links={("a", "b"): Link(latency=1.0)}).to_json()

    @pytest.mark.parametrize(
        "text",
        [
            b"",
            b"[]",
            b"{}",
            b"\xff",
            GOOD.replace(b"cluster/1", b"cluster/2"),
            GOOD.replace(b'"name":"a"', b'"name":"a","surprise":1'),
            b'{"format":"orchestrator.cluster/1","workers":[{"name":"a"}],"links":[[0,5,[0,0,0]]]}',
        ],
    )
    def test_what_is_no_cluster(self, text: bytes) -> None:
        with pytest.raises(InvalidFormat):
            Cluster.from_json(text)

    def test_a_cluster_that_is_refused_elsewhere_is_refused_here(self) -> None:
        with pytest.raises(InvalidCluster, match="two workers are named 'a'"):
            Cluster.from_json(self.GOOD.replace(b'"name":"b"', b'"name":"a"'))
        with pytest.raises(InvalidCluster, match="no workers"):
            Cluster.from_json('{"format":"orchestrator.cluster/1","workers":[]}')
        with pytest.raises(InvalidCluster, match="'a' has threads = 18446744073709551615"):
            Cluster.from_json(
                self.GOOD.replace(b'"name":"a"', b'"name":"a","threads":%d' % (2**64 - 1))
            )


class TestRefused:
    def test_no_workers(self) -> None:
        with pytest.raises(InvalidCluster, match="no workers can run nothing"):
            Cluster([])

    def test_twice(self) -> None:
        with pytest.raises(InvalidCluster, match="two workers are named 'a'"):
            Cluster([Worker("a"), Worker("a")])

    @pytest.mark.parametrize("name", ["", "a\nb", "\ud800", "x" * 10_000, 7, None])
    def test_names(self, name: Any) -> None:
        with pytest.raises(InvalidCluster, match="worker 0"):
            Cluster([Worker(name)])

    @pytest.mark.parametrize(
        ("field", "bad"),
        [
            ("threads", 0),
            ("threads", -1),
            ("threads", 1.5),
            ("threads", math.nan),
            ("threads", True),
            ("threads", 2**53),
            ("threads", 2**64 - 1),
            ("threads", 10**400),
            ("kind", "\ud800"),
            ("kind", "a\nb"),
            ("kind", ""),
            ("kind", 3),
            ("memory", "10 GB"),
            ("speed", None),
            ("memory", 0.0),
            ("memory", -1.0),
            ("memory", math.nan),
            ("speed", 0.0),
            ("speed", -1.0),
            ("speed", math.inf),
            ("speed", math.nan),
            ("price", -1.0),
            ("price", math.inf),
            ("price", math.nan),
        ],
    )
    def test_numbers_of_a_worker(self, field: str, bad: Any) -> None:
        with pytest.raises(InvalidCluster, match=f"worker 'a' has {field} = .*must be"):
            Cluster([replace(Worker("a"), **{field: bad})])

    @pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
    def test_resources_and_stock(self, bad: float) -> None:
        with pytest.raises(InvalidInput, match="'GPU'"):
            Worker("a", resources={"GPU": bad})
        with pytest.raises(InvalidInput, match="'credit'"):
            Cluster(TWO, stock={"credit": bad})

    @pytest.mark.parametrize(
        "link",
        [
            Link(latency=-1.0),
            Link(latency=math.nan),
            Link(latency=math.inf),
            Link(bandwidth=0.0),
            Link(bandwidth=-5.0),
            Link(bandwidth=1e-320),
            Link(bandwidth=math.nan),
            Link(bandwidth="fast"),
            Link(latency=None),
            Link(encode_rate=0.0),
            Link(encode_rate=math.nan),
        ],
    )
    def test_links(self, link: Link) -> None:
        with pytest.raises(InvalidCluster, match="link 'any' -> 'any' has"):
            Cluster(TWO, link)
        with pytest.raises(InvalidCluster, match="link 'a' -> 'b' has"):
            Cluster(TWO, links={("a", "b"): link})

    def test_a_link_to_nowhere(self) -> None:
        with pytest.raises(InvalidCluster, match="no worker has the name or kind 'z'; there are"):
            Cluster(TWO, links={("a", "z"): Link()})

    @pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
    def test_matrices(self, bad: float) -> None:
        matrix = np.zeros((2, 2))
        matrix[1, 0] = bad
        with pytest.raises(InvalidCluster, match="latency from 'b' to 'a' is "):
            Cluster.from_matrices(TWO, latency=matrix)

    @pytest.mark.parametrize("shape", [(3, 3), (2, 3), (2, 2, 2), (3,)])
    def test_shapes_of_matrices(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(InvalidCluster, match="seconds_per_byte: expected a number or a matrix"):
            Cluster.from_matrices(TWO, seconds_per_byte=np.zeros(shape))

    def test_what_is_no_matrix(self) -> None:
        with pytest.raises(InvalidCluster, match="latency: expected a number"):
            Cluster.from_matrices(TWO, latency="slow")


@pytest.mark.parametrize(
    ("workers", "message"),
    [
        (["a", "b"], r"worker 0 is 'a', a str; give Worker\('a'\)"),
        ([Worker("a"), 5], r"worker 1 is 5, a int; give Worker\('name'\)"),
        ("abc", r"workers is 'abc'; give a list of Workers: \[Worker"),
        (Worker("a"), r"give a list of Workers: \[Worker\('a'\)\]"),
        (None, "workers is None; give a list"),
    ],
)
def test_what_is_no_list_of_workers(workers: Any, message: str) -> None:
    with pytest.raises(InvalidCluster, match=message):
        Cluster(workers)
    with pytest.raises(InvalidCluster, match=message):
        Cluster.from_matrices(workers)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"link": 1e8}, r"link is 100000000.0; give a Link: Link\("),
        ({"link": 0}, "link is 0; give a Link"),
        ({"links": 5}, "links is 5; give a mapping"),
        ({"links": {"ab": Link()}}, "links has 'ab': .* give two workers and a Link"),
        ({"links": {("a", "b"): 1e8}}, "give two workers and a Link"),
        ({"link": Link(latency=10**400)}, "latency = a whole number of more than 308 digits"),
        ({"stock": 5}, "expected amounts by name"),
    ],
)
def test_what_is_no_link(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Cluster(TWO, **given)
