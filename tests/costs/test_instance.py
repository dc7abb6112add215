"""Instance: a graph priced on a cluster; what it refuses, and why no schedule can exist."""

from __future__ import annotations

import math
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from orchestrator_core.costs.instance import Instance
from orchestrator_core.costs.model import FirstKnown, GraphCosts, TableCosts
from orchestrator_core.errors import (
    InfeasibleInstance,
    InvalidCluster,
    InvalidFormat,
    InvalidGraph,
    InvalidInput,
    InvalidInstance,
)
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task import Edge, Mode, Task
from orchestrator_core.graph.task_graph import TaskGraph
from tests.strategies import instances

BUILDER = TaskGraph.build()
GRAPH = TaskGraph.from_tasks([Task("a", seconds=1.0)])
CLUSTER = Cluster([Worker("w")])


def price(*tasks: Task, on: Cluster | Worker, edges: list[Edge] | None = None) -> Instance:
    cluster = on if isinstance(on, Cluster) else Cluster([on])
    return Instance.price(TaskGraph.from_tasks(tasks, edges or []), cluster)


class TestPrice:
    def test_seconds_at_speed_one_over_the_speed(self) -> None:
        cluster = Cluster([Worker("slow"), Worker("fast", speed=4.0)])
        instance = price(Task("a", seconds=8.0), Task("b", seconds=2.0), on=cluster)
        assert instance.seconds.tolist() == [[8.0, 2.0], [2.0, 0.5]]
        assert instance.best_seconds.tolist() == [2.0, 0.5]

    def test_a_table_by_kind(self) -> None:
        graph = TaskGraph.from_tasks([Task("a", kind="k"), Task("b", kind="k")])
        cluster = Cluster([Worker("x", kind="cpu"), Worker("y", kind="gpu")])
        costs = TableCosts({("k", "cpu"): 5.0, ("k", "gpu"): 1.0})
        assert Instance.price(graph, cluster, costs).seconds.tolist() == [[5.0, 1.0]] * 2

    def test_the_first_model_that_knows(self) -> None:
        graph = TaskGraph.from_tasks([Task("a", seconds=7.0), Task("b", seconds=7.0)])
        cluster = Cluster([Worker("x", kind="cpu")])
        costs = FirstKnown([TableCosts({("a", "cpu"): 1.0}, {"a": 3.0}), GraphCosts()])
        assert Instance.price(graph, cluster, costs).seconds.tolist() == [[1.0], [7.0]]
        assert costs.output_bytes(graph).tolist() == [3.0, 0.0]

    def test_an_unknown_duration_is_named(self) -> None:
        with pytest.raises(
            InvalidInstance, match="of task 'b' on worker 'w' are not known; give seconds="
        ):
            price(Task("a", seconds=1.0), Task("b"), on=Worker("w"))

    @pytest.mark.parametrize("bad", [math.nan, -1.0, 1e308])
    def test_seconds_that_are_none(self, bad: float) -> None:
        with pytest.raises(InvalidInstance, match="task 't1' on worker 'w0'"):
            Instance.from_arrays([[1.0], [bad]], [])

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ((BUILDER, CLUSTER), r"still a GraphBuilder; its done\(\)"),
            ((None, CLUSTER), "the graph is None; give a TaskGraph"),
            ((CLUSTER, GRAPH), "they are swapped"),
            ((CLUSTER, BUILDER), "they are swapped"),
            ((GRAPH, None), "the cluster is None; give a Cluster"),
            ((GRAPH, [Worker("w")]), "the cluster is .*, a list; give a Cluster"),
            ((GRAPH, CLUSTER, "history"), "costs is 'history', a str; give a cost model"),
            ((GRAPH, CLUSTER, GraphCosts), "costs is .*; give a cost model"),
        ],
    )
    def test_what_cannot_be_priced(self, given: tuple[Any, ...], message: str) -> None:
        with pytest.raises(InvalidInstance, match=message):
            Instance.price(*given)
        if len(given) == 2:
            with pytest.raises(InvalidInstance, match=message):
                Instance(*given, np.ones((1, 1)))

    @pytest.mark.parametrize("bad", ["x", [[10**400]], [[1.0], [1.0, 2.0]]])
    def test_seconds_that_are_no_numbers(self, bad: Any) -> None:
        with pytest.raises(InvalidInstance, match="seconds: expected numbers"):
            Instance(GRAPH, CLUSTER, bad)

    def test_the_shape_of_seconds(self) -> None:
        graph = TaskGraph.from_tasks([Task("a", seconds=1.0)])
        with pytest.raises(InvalidInstance, match=r"shape \(2, 1\).*needs \(1, 1\)"):
            Instance(graph, Cluster([Worker("w")]), np.ones((2, 1)))

    def test_it_cannot_change(self) -> None:
        given = np.ones((1, 1))
        instance = Instance(TaskGraph.from_tasks([Task("a")]), Cluster([Worker("w")]), given)
        given[0, 0] = 9.0
        assert instance.seconds.tolist() == [[1.0]]
        with pytest.raises(ValueError, match="read-only"):
            instance.seconds[0, 0] = 2.0


class TestEligible:
    def test_what_does_not_fit_is_infinite(self) -> None:
        workers = [
            Worker("small", memory=10.0),
            Worker("wide", threads=4, memory=10.0),
            Worker("gpu", resources={"GPU": 1}),
        ]
        tasks = [
            Task("plain", seconds=1.0),
            Task("threads", seconds=1.0, threads=2),
            Task("gpu", seconds=1.0, resources={"GPU": 1}),
            Task("memory", seconds=1.0, memory=11.0),
            Task("named", seconds=1.0, eligible=("small", "no such worker")),
        ]
        assert price(*tasks, on=Cluster(workers)).eligible.tolist() == [
            [True, True, True],
            [False, True, False],
            [False, False, True],
            [False, False, True],
            [True, False, False],
        ]

    def test_inputs_count_as_memory_of_a_task(self) -> None:
        tasks = [Task("a", seconds=1.0, output_bytes=6.0), Task("b", seconds=1.0, memory=5.0)]
        cluster = Cluster([Worker("ten", memory=10.0), Worker("eleven", memory=11.0)])
        instance = price(*tasks, on=cluster, edges=[Edge("a", "b")])
        assert instance.eligible.tolist() == [[True, True], [False, True]]

    def test_a_kind_is_a_name_for_its_workers(self) -> None:
        cluster = Cluster([Worker("x", kind="cpu"), Worker("y", kind="gpu")])
        instance = price(Task("a", seconds=1.0, eligible=("gpu",)), on=cluster)
        assert instance.eligible.tolist() == [[False, True]]


class TestInfeasible:
    @pytest.mark.parametrize(
        ("task", "text"),
        [
            (Task("b", seconds=1.0, threads=9), "needs 9 threads; the best worker, 'w', has 4"),
            (
                Task("b", seconds=1.0, resources={"GPU": 3}),
                "needs 3 GPU; the best worker, 'w', has 2",
            ),
            (
                Task("b", seconds=1.0, resources={"TPU": 1}),
                "needs 1 TPU; the best worker, 'w', has 0",
            ),
            (
                Task("b", seconds=1.0, resources={"gpu": 1}),
                r"needs 1 gpu; the best worker, 'w', has 0 \(is 'GPU' meant\?\)",
            ),
            (Task("b", seconds=1.0, memory=101.0), "needs 101 bytes of memory"),
            (Task("b", seconds=1.0, eligible=("x",)), r"may run only on \['x'\]"),
            (Task("b", seconds=5.0, deadline=4.0), "cannot end by its deadline of 4 s"),
            (Task("b", seconds=1.0, release=9.0, deadline=9.5), "cannot end by its deadline"),
        ],
    )
    def test_the_smallest_cause_is_named(self, task: Task, text: str) -> None:
        worker = Worker("w", threads=4, memory=100.0, resources={"GPU": 2})
        with pytest.raises(InfeasibleInstance, match=text) as caught:
            price(Task("a", seconds=1.0), task, on=worker)
        assert caught.value.task == "b"
        assert "task 'b'" in str(caught.value)

    def test_a_deadline_may_be_the_largest_number(self) -> None:
        """A little more than that is no number, and warned of."""
        last = Task("a", seconds=1.0, deadline=sys.float_info.max)
        assert Instance.price(TaskGraph.from_tasks([last]), Cluster([Worker("w")])).seconds == 1.0

    def test_a_deadline_behind_a_chain(self) -> None:
        """1 s + 2 s cannot end by 2.5 s, on however many workers."""
        tasks = [Task("a", seconds=1.0), Task("b", seconds=2.0, deadline=2.5)]
        cluster = Cluster([Worker("x"), Worker("y")])
        with pytest.raises(InfeasibleInstance, match="ends at 3 s"):
            price(*tasks, on=cluster, edges=[Edge("a", "b")])

    def test_an_output_that_fits_nowhere(self) -> None:
        tasks = [Task("a", seconds=1.0, output_bytes=200.0), Task("b", seconds=1.0)]
        with pytest.raises(InfeasibleInstance, match="task 'a' needs 200 bytes"):
            price(*tasks, on=Worker("w", memory=100.0), edges=[Edge("a", "b")])

    def test_no_worker_offers_all_at_once(self) -> None:
        cluster = Cluster([Worker("x", threads=4), Worker("y", resources={"GPU": 1})])
        told = "no worker that offers all.*'x' has 0 of 1 GPU, 'y' has 1 of 4 threads$"
        with pytest.raises(InfeasibleInstance, match=told):
            price(Task("a", seconds=1.0, threads=4, resources={"GPU": 1}), on=cluster)

    def test_who_lacks_what_is_told_of_a_few(self) -> None:
        """Only z may be used, and its memory does not hold the task; of many some are told."""
        workers = [Worker("z", memory=5.0), *(Worker(f"w{k}", kind="big") for k in range(9))]
        told = r"'z' has 5 bytes of 6 bytes of memory, 'w0' is none of \['z'\].* for 7 more$"
        with pytest.raises(InfeasibleInstance, match=told):
            price(Task("a", seconds=1.0, memory=6.0, eligible=("z",)), on=Cluster(workers))

    def test_no_finite_duration(self) -> None:
        with pytest.raises(InfeasibleInstance, match="task 't0' has no finite duration on any"):
            Instance.from_arrays([[math.inf, math.inf], [1, 1]], [])

    def test_stock(self) -> None:
        """Two tasks take 2 each at the least (their second modes), 4 in all."""
        modes = (
            Mode(seconds=1.0, consumes={"credit": 5}),
            Mode(seconds=2.0, consumes={"credit": 2}),
        )
        tasks = [Task("a", modes=modes), Task("b", modes=modes)]
        workers = [Worker("w")]
        price(*tasks, on=Cluster(workers, stock={"credit": 4}))
        with pytest.raises(InfeasibleInstance, match=r"at least 4 credit together.*stock is 3"):
            price(*tasks, on=Cluster(workers, stock={"credit": 3}))


class TestFromArrays:
    def test_the_smallest_call(self) -> None:
        instance = Instance.from_arrays([[1, 2], [3, 4]], [(0, 1, 10.0)])
        assert instance.graph.names == ("t0", "t1")
        assert instance.cluster.names == ("w0", "w1")
        assert instance.graph.nbytes.tolist() == [10.0]
        assert instance.graph.output_bytes.tolist() == [10.0, 0.0]

    def test_infinity_where_a_task_may_not_run(self) -> None:
        instance = Instance.from_arrays([[1, math.inf]], [])
        assert instance.eligible.tolist() == [[True, False]]

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            ({"durations": [1, 2]}, InvalidInstance),
            ({"durations": [[1], [1, 2]]}, InvalidInstance),
            ({"durations": [["x"]]}, InvalidInstance),
            ({"durations": [[], []]}, InvalidCluster),
            ({"edges": [(0, 1)]}, InvalidGraph),
            ({"edges": [(0, 9, 1.0)]}, InvalidGraph),
            ({"edges": [(0, 0, 1.0)]}, InvalidGraph),
            ({"edges": [(0, 1, -1.0)]}, InvalidGraph),
            ({"edges": [(0, 1, math.nan)]}, InvalidGraph),
            ({"edges": [(0, 1, 1.0), (1, 0, 1.0)]}, InvalidGraph),
            ({"edges": [("a", "b", 1.0)]}, InvalidGraph),
            ({"task_names": ["a"]}, InvalidGraph),
            ({"task_names": ["a", "a"]}, InvalidGraph),
            ({"worker_names": ["a", "b", "c"]}, InvalidCluster),
            ({"threads": 0}, InvalidCluster),
            ({"threads": 1.5}, InvalidCluster),
            ({"threads": [1, 2, 3]}, InvalidCluster),
            ({"memory": -1.0}, InvalidCluster),
            ({"latency": -1.0}, InvalidCluster),
            ({"latency": np.zeros((3, 3))}, InvalidCluster),
            ({"output_bytes": [1.0, 2.0, 3.0]}, InvalidGraph),
            ({"count": 0}, InvalidGraph),
            ({"deadline": -1.0}, InvalidGraph),
            ({"durations": [[math.inf, math.inf], [1, 1]]}, InfeasibleInstance),
            ({"task_threads": 2}, InfeasibleInstance),
        ],
    )
    def test_what_is_refused(self, arguments: dict[str, Any], error: type[Exception]) -> None:
        defaults: dict[str, Any] = {"durations": [[1, 2], [3, 4]], "edges": [(0, 1, 1.0)]}
        with pytest.raises(error):
            Instance.from_arrays(**(defaults | arguments))

    def test_errors_of_input_are_value_errors(self) -> None:
        with pytest.raises(ValueError, match="shape"):
            Instance.from_arrays([1, 2], [])


class TestRoundTrips:
    @given(instance=instances(any_constraints=True))
    def test_json_and_pickle(self, instance: Instance) -> None:
        again = Instance.from_json(instance.to_json())
        assert again == instance
        assert again.to_json() == instance.to_json()
        assert hash(again) == hash(instance)
        assert pickle.loads(pickle.dumps(instance)) == instance

    GOOD = Instance.from_arrays([[1, 2], [3, math.inf]], [(0, 1, 1.0)]).to_json()

    @pytest.mark.parametrize(
        "text",
        [
            b"",
            b"{}",
            b"\xff",
            GOOD.replace(b"instance/1", b"instance/9"),
            GOOD.replace(b'"row_of":[0,1]', b'"row_of":[0,7]'),
            GOOD.replace(b'"row_of":[0,1]', b'"row_of":[0,-1]'),
            GOOD.replace(b"[1.0,2.0]", b"[1.0]"),
        ],
    )
    def test_what_is_no_instance(self, text: bytes) -> None:
        assert text != self.GOOD
        with pytest.raises(InvalidFormat):
            Instance.from_json(text)

    def test_too_few_rows(self) -> None:
        text = self.GOOD.replace(b'"row_of":[0,1]', b'"row_of":[0]')
        with pytest.raises(InvalidInput):
            Instance.from_json(text)

    def test_the_empty_instance(self) -> None:
        instance = Instance.price(TaskGraph.from_tasks([]), Cluster([Worker("w")]))
        assert Instance.from_json(instance.to_json()) == instance
        assert instance.best_seconds.tolist() == []


@pytest.mark.parametrize("quantile", [float("nan"), -3, 0, 1, 1.5, "half"])
def test_a_quantile_is_a_part_of_all_runs(quantile: Any) -> None:
    builder = TaskGraph.build()
    builder.task("a", seconds=1.0)
    with pytest.raises(InvalidInstance, match="expected a number between 0 and 1"):
        Instance.price(builder.done(), Cluster([Worker("w")]), quantile=quantile)


@pytest.mark.parametrize(
    ("output", "links", "says"),
    [
        (1e300, {"seconds_per_byte": 1e10}, "the 1e[+]300 bytes of task 't0' takes inf s"),
        (1e300, {"encode_seconds_per_byte": 1e-140}, "takes 1e[+]160 s"),
        (1.0, {"latency": 1e151}, "takes 1e[+]151 s"),
    ],
)
def test_a_transfer_that_takes_longer_than_numbers_go_is_refused(
    output: float, links: dict[str, float], says: str
) -> None:
    """Bounds add seconds up, and square them."""
    with pytest.raises(InvalidInstance, match=says):
        Instance.from_arrays([[1.0, 1.0]] * 2, [(0, 1, output)], **links)
    Instance.from_arrays([[1.0, 1.0]] * 2, [], output_bytes=output, **links)
