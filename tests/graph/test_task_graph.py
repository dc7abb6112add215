"""TaskGraph: what it holds, what it gives back, and what it refuses at the door."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.errors import InvalidFormat, InvalidGraph, InvalidInput
from orchestrator_core.graph.amounts import Amounts
from orchestrator_core.graph.task import Edge, Mode, Task
from orchestrator_core.graph.task_graph import TaskGraph
from tests.strategies import graphs


def graph_of(*tasks: Task, edges: list[Edge] | None = None) -> TaskGraph:
    return TaskGraph.from_tasks(tasks, edges or [])


class TestValues:
    def test_the_builder_of_the_first_example(self) -> None:
        g = TaskGraph.build()
        g.task("load", seconds=2.0, output_bytes=1e6)
        g.task("train", seconds=60.0, resources={"GPU": 1}, after=["load"])
        graph = g.done()
        assert graph.names == ("load", "train")
        assert list(graph.edges()) == [Edge("load", "train", 1e6, 1)]
        assert graph.task("train").resources == {"GPU": 1.0}
        assert graph.task(0) == Task("load", kind="load", seconds=2.0, output_bytes=1e6)

    def test_edges_are_sorted_and_linked_both_ways(self) -> None:
        """a -> c, a -> b, b -> c, written down in another order."""
        edges = [Edge("b", "c"), Edge("a", "c"), Edge("a", "b")]
        graph = graph_of(Task("a"), Task("b"), Task("c"), edges=edges)
        assert graph.producer.tolist() == [0, 0, 1]
        assert graph.consumer.tolist() == [1, 2, 2]
        assert graph.successors(0).tolist() == [1, 2]
        assert sorted(graph.predecessors(2).tolist()) == [0, 1]
        assert graph.in_edges(0).tolist() == []

    def test_producers_come_before_consumers_whatever_the_order_of_insertion(self) -> None:
        edges = [Edge("c", "b"), Edge("b", "a")]
        graph = graph_of(Task("a"), Task("b"), Task("c"), edges=edges)
        assert [graph.names[i] for i in graph.topological] == ["c", "b", "a"]

    def test_an_output_is_as_large_as_its_largest_edge(self) -> None:
        edges = [Edge("a", "b", 30.0), Edge("a", "c", 5.0), Edge("a", "d")]
        graph = graph_of(Task("a", output_bytes=10.0), Task("b"), Task("c"), Task("d"), edges=edges)
        assert graph.output_bytes.tolist() == [30.0, 0.0, 0.0, 0.0]
        assert graph.nbytes.tolist() == [30.0, 5.0, 30.0]

    def test_modes_are_numbered_through(self) -> None:
        modes = (Mode("one", seconds=8.0), Mode("two", threads=2, seconds=5.0))
        graph = graph_of(Task("a", seconds=1.0), Task("b", modes=modes, eligible=("w",)))
        assert graph.mode_ptr.tolist() == [0, 1, 3]
        assert graph.mode_task.tolist() == [0, 1, 1]
        assert graph.mode(2) == Mode("two", threads=2, seconds=5.0, eligible=("w",))
        assert np.isnan(graph_of(Task("a")).mode_seconds).all()

    def test_no_deadline_is_infinity_and_comes_back_as_none(self) -> None:
        graph = graph_of(Task("a", deadline=5.0), Task("b"))
        assert graph.deadline.tolist() == [5.0, math.inf]
        assert graph.task("b").deadline is None

    def test_sizes(self) -> None:
        graph = graph_of(Task("a", count=4), Task("b", count=2), edges=[Edge("a", "b", None, 2)])
        assert (len(graph), graph.n_edges, graph.n_modes, graph.n_instances) == (2, 1, 2, 6)
        assert repr(graph) == "TaskGraph(2 tasks, 1 edges)"

    def test_the_empty_graph(self) -> None:
        graph = graph_of()
        assert (len(graph), graph.n_edges, list(graph.tasks())) == (0, 0, [])
        assert TaskGraph.from_json(graph.to_json()) == graph

    def test_it_cannot_change(self) -> None:
        graph = graph_of(Task("a"))
        with pytest.raises(ValueError, match="read-only"):
            graph.output_bytes[0] = 1.0
        with pytest.raises(AttributeError):
            graph.names = ("b",)  # type: ignore[misc]
        with pytest.raises(TypeError):
            graph.task("a").resources["GPU"] = 1  # type: ignore[index]

    def test_columns_of_the_caller_are_copied(self) -> None:
        sizes = np.array([1.0, 2.0])
        graph = TaskGraph.from_columns(["a", "b"], output_bytes=sizes)
        sizes[0] = 99.0
        assert graph.output_bytes.tolist() == [1.0, 2.0]

    def test_no_such_task(self) -> None:
        with pytest.raises(KeyError):
            graph_of(Task("a")).task("b")


class TestRoundTrips:
    @given(graph=graphs())
    def test_json(self, graph: TaskGraph) -> None:
        again = TaskGraph.from_json(graph.to_json())
        assert again == graph
        assert again.to_json() == graph.to_json()

    @given(graph=graphs())
    def test_values(self, graph: TaskGraph) -> None:
        assert TaskGraph.from_tasks(graph.tasks(), graph.edges()) == graph

    @given(graph=graphs())
    def test_pickle_and_copy(self, graph: TaskGraph) -> None:
        assert pickle.loads(pickle.dumps(graph)) == graph
        assert copy.deepcopy(graph) == graph
        assert hash(copy.deepcopy(graph)) == hash(graph)

    def test_graphs_that_differ_are_not_equal(self) -> None:
        graph = graph_of(Task("a", seconds=1.0))
        assert graph != graph_of(Task("a", seconds=2.0))
        assert graph != graph_of(Task("b", seconds=1.0))
        assert graph != "a graph"


class TestFormat:
    GOOD = graph_of(Task("a"), Task("b"), edges=[Edge("a", "b")]).to_json()

    @pytest.mark.parametrize(
        "text",
        [
            b"",
            b"{",
            b"[]",
            b"null",
            b"\xff\xfe",
            "{}",
            GOOD.replace(b'"name":"a"', b'"name":7'),
            GOOD.replace(b'"name":"a"', b'"name":"a","surprise":1'),
            GOOD.replace(b"task-graph/1", b"task-graph/99"),
            GOOD.replace(b"[0,1,", b"[0,2,"),
            GOOD.replace(b"[0,1,", b"[-1,1,"),
        ],
    )
    def test_what_is_no_graph(self, text: str | bytes) -> None:
        with pytest.raises(InvalidFormat):
            TaskGraph.from_json(text)

    def test_a_graph_that_is_refused_elsewhere_is_refused_here(self) -> None:
        with pytest.raises(InvalidGraph, match="two tasks are named 'a'"):
            TaskGraph.from_json(self.GOOD.replace(b'"name":"b"', b'"name":"a"'))
        with pytest.raises(InvalidGraph, match="joins a task to itself"):
            TaskGraph.from_json(self.GOOD.replace(b"[0,1,", b"[1,1,"))


class TestCycles:
    def test_two_tasks(self) -> None:
        with pytest.raises(InvalidGraph, match=r"'a' -> 'b' -> 'a'|'b' -> 'a' -> 'b'"):
            graph_of(Task("a"), Task("b"), edges=[Edge("a", "b"), Edge("b", "a")])

    def test_the_message_holds_the_cycle_and_nothing_else(self) -> None:
        """in -> x -> y -> z -> x, z -> out."""
        edges = [("in", "x"), ("x", "y"), ("y", "z"), ("z", "x"), ("z", "out")]
        tasks = [Task(name) for name in ("out", "z", "y", "x", "in")]
        with pytest.raises(InvalidGraph, match="has a cycle") as caught:
            TaskGraph.from_tasks(tasks, [Edge(a, b) for a, b in edges])
        message = str(caught.value)
        assert all(f"'{name}'" in message for name in "xyz")
        assert "'in'" not in message
        assert "'out'" not in message

    def test_a_task_that_waits_for_itself(self) -> None:
        with pytest.raises(InvalidGraph, match="'a' -> 'a' joins a task to itself"):
            graph_of(Task("a"), edges=[Edge("a", "a")])

    def test_a_long_cycle_is_shortened_in_the_message(self) -> None:
        n = 10_000
        ring = [*range(1, n), 0]
        with pytest.raises(InvalidGraph, match=r"\.\.\. 9\d\d\d more \.\.\.") as caught:
            TaskGraph.from_columns([f"t{i}" for i in range(n)], producer=range(n), consumer=ring)
        assert len(str(caught.value)) < 500

    def test_a_chain_of_100_000_tasks_is_none(self) -> None:
        n = 100_000
        forward = TaskGraph.from_columns(
            [f"t{i}" for i in range(n)], producer=np.arange(n - 1), consumer=np.arange(1, n)
        )
        backward = TaskGraph.from_columns(
            [f"t{i}" for i in range(n)], producer=np.arange(1, n), consumer=np.arange(n - 1)
        )
        assert forward.topological.tolist() == list(range(n))
        assert backward.topological.tolist() == list(range(n))[::-1]

    def test_200_000_tasks_one_at_a_time(self) -> None:
        g = TaskGraph.build()
        g.task("t0", seconds=1.0)
        for i in range(1, 200_000):
            g.task(f"t{i}", kind="k", seconds=1.0, after=[f"t{i // 2}"])
        graph = g.done()
        assert len(graph) == 200_000
        assert graph.n_edges == 199_999
        assert len(graph.demands) == 1
        assert graph.task("t199999").kind == "k"


class TestNames:
    @pytest.mark.parametrize(
        "name",
        [
            "<script>alert(1)</script>",
            "'; DROP TABLE tasks; --",
            '"quoted"',
            "{{ 7 * 7 }}",
            "../../etc/passwd",
            "größe 任务 🚀",
            "('sum-4f2a', 0, 1)",
            "x" * 1000,
            " ",
        ],
    )
    def test_any_text_is_a_name(self, name: str) -> None:
        graph = graph_of(Task(name))
        assert TaskGraph.from_json(graph.to_json()).names == (name,)

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("", "0 characters"),
            ("a\nb", r"'a\nb'"),
            ("a\x00b", r"'a\x00b'"),
            ("\x1b[31mred", r"\x1b"),
            ("\x7f", r"\x7f"),
            ("é\x07", r"\x07"),
            ("\ud800", r"\ud800"),
            ("x" * 10_000, "10000 characters"),
        ],
    )
    def test_text_that_a_screen_or_database_cannot_hold(self, name: str, shown: str) -> None:
        with pytest.raises(InvalidGraph) as caught:
            graph_of(Task(name))
        assert shown in str(caught.value)
        assert len(str(caught.value)) < 300
        str(caught.value).encode()  # the message itself can be printed

    @pytest.mark.parametrize("name", [1, None, b"a", ("a", 0), 1.5])
    def test_what_is_no_string(self, name: Any) -> None:
        with pytest.raises(InvalidGraph, match="names are strings"):
            TaskGraph.from_columns([name])
        with pytest.raises(InvalidInput):
            TaskGraph.build().task(name)

    @pytest.mark.parametrize("text", ["a\nb", "\x1b[31m", "\x9b31m", "\ud800", "x" * 10_000, 7])
    @pytest.mark.parametrize("where", ["kind", "mode", "eligible", "resource", "stock"])
    def test_all_other_text_is_held_to_the_same(self, where: str, text: Any) -> None:
        tasks = {
            "kind": lambda: Task("a", kind=text),
            "mode": lambda: Task("a", modes=(Mode(text),)),
            "eligible": lambda: Task("a", eligible=(text,)),
            "resource": lambda: Task("a", resources={text: 1.0}),
            "stock": lambda: Task("a", consumes={text: 1.0}),
        }
        with pytest.raises(InvalidInput, match="it has to be text of 1 to 1000 characters"):
            graph_of(tasks[where]())

    def test_eligible_is_no_lone_string(self) -> None:
        """Its letters would be taken as the names of workers."""
        with pytest.raises(InvalidGraph, match=r"give a tuple of names: \('gpu',\)"):
            Task("a", eligible="gpu")  # type: ignore[arg-type]
        with pytest.raises(InvalidGraph, match="eligible is the string 'gpu'"):
            TaskGraph.build().task("a", eligible="gpu")

    def test_after_is_no_lone_string(self) -> None:
        """Its letters would be taken as the names of tasks."""
        graph = TaskGraph.build()
        for name in ("a", "b"):
            graph.task(name)
        with pytest.raises(InvalidGraph, match=r"after is the string 'ab'; .* \('ab',\)"):
            graph.task("c", after="ab")

    def test_twice(self) -> None:
        with pytest.raises(InvalidGraph, match="two tasks are named 'a'"):
            graph_of(Task("a"), Task("b"), Task("a"))
        with pytest.raises(InvalidGraph, match="two tasks are named 'a'"):
            TaskGraph.from_columns(["a", "b", "a"])

    def test_an_edge_to_nowhere(self) -> None:
        with pytest.raises(InvalidGraph, match="edge 'a' -> 'b': there is no task 'b'"):
            graph_of(Task("a"), edges=[Edge("a", "b")])
        with pytest.raises(InvalidGraph, match="there is no task 'x'"):
            TaskGraph.build().task("a", after=["x"])
        with pytest.raises(InvalidGraph, match="task number 5; there are 2 tasks"):
            TaskGraph.from_columns(["a", "b"], producer=[0], consumer=[5])


class TestNumbers:
    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, -1.0])
    @pytest.mark.parametrize("field", ["output_bytes", "release", "weight", "memory"])
    def test_amounts_are_finite_and_not_negative(self, field: str, bad: float) -> None:
        with pytest.raises(InvalidGraph, match=f"task 'a' has {field} = .*must be finite and >= 0"):
            graph_of(replace(Task("a"), **{field: bad}))

    @pytest.mark.parametrize("bad", [math.inf, -math.inf, -1.0])
    def test_seconds(self, bad: float) -> None:
        with pytest.raises(InvalidGraph, match="task 'a' has seconds = "):
            graph_of(Task("a", seconds=bad))
        with pytest.raises(InvalidGraph, match="task 'a' has seconds = "):
            graph_of(Task("a", modes=(Mode(seconds=1.0), Mode(seconds=bad))))

    @pytest.mark.parametrize("field", ["deadline", "due"])
    @pytest.mark.parametrize("bad", [math.nan, -1.0])
    def test_dates(self, field: str, bad: float) -> None:
        with pytest.raises(InvalidGraph, match=f"task 'a' has {field} = "):
            graph_of(replace(Task("a"), **{field: bad}))

    @pytest.mark.parametrize("field", ["threads", "count"])
    @pytest.mark.parametrize("bad", [0, -3])
    def test_numbers_of_things(self, field: str, bad: int) -> None:
        with pytest.raises(InvalidGraph, match=f"task 'a' has {field} = {bad}; .*at least 1"):
            graph_of(replace(Task("a"), **{field: bad}))

    @pytest.mark.parametrize("field", ["threads", "count"])
    @pytest.mark.parametrize("bad", [1.5, math.nan, math.inf, 1e300])
    def test_numbers_of_things_are_whole(self, field: str, bad: float) -> None:
        with pytest.raises(InvalidGraph, match=f"task 'a' has {field} = .*whole number"):
            graph_of(replace(Task("a"), **{field: bad}))

    @pytest.mark.parametrize(
        "field",
        ["seconds", "memory", "output_bytes", "release", "deadline", "due", "threads", "count"],
    )
    @pytest.mark.parametrize(
        ("bad", "found"),
        [
            ("3", "= '3'; it must be a number, not text"),
            ("2min", "= '2min'; it must be a number, not text"),
            ([1], r"= \[1\]; it must be a number, not a list"),
            ({"GPU": 1}, "= {'GPU': 1}; it must be a number, not a dict"),
            (1 + 2j, r"= \(1\+2j\); it must be a number, not a complex"),
            (10**400, "of more than 1e308"),
        ],
    )
    def test_what_is_no_number(self, field: str, bad: Any, found: str) -> None:
        """Text too: its unit would be a guess."""
        with pytest.raises(InvalidGraph, match=f"task 'b' has {field} {found}; give {field}="):
            graph_of(Task("a"), replace(Task("b"), **{field: bad}))

    @pytest.mark.parametrize("field", ["memory", "output_bytes", "release", "threads", "count"])
    def test_only_what_may_be_unknown_may_be_none(self, field: str) -> None:
        with pytest.raises(InvalidGraph, match=f"task 'a' has {field} = None; it must be a number"):
            graph_of(replace(Task("a"), **{field: None}))
        columns = {"seconds": [None, 1.0], "producer": [0], "consumer": [1], "nbytes": [None]}
        graph = TaskGraph.from_columns(["a", "b"], **columns)
        assert np.isnan(graph.mode_seconds[0])
        assert graph.nbytes.tolist() == [0.0]

    def test_a_mode_and_an_edge_are_named_too(self) -> None:
        modes = (Mode(seconds=1.0), Mode(seconds="2min"))  # type: ignore[arg-type]
        with pytest.raises(InvalidGraph, match="task 'b' has seconds = '2min'"):
            graph_of(Task("a"), Task("b", modes=modes))
        with pytest.raises(InvalidGraph, match="edge 'a' -> 'b' has nbytes = '1MB'"):
            graph_of(Task("a"), Task("b"), edges=[Edge("a", "b", "1MB")])  # type: ignore[arg-type]

    def test_more_instances_than_a_plan_can_place(self) -> None:
        with pytest.raises(InvalidGraph, match=r"has count = 1e\+12; it must be at most 10000000"):
            graph_of(Task("a", count=10**12))

    def test_amounts_may_be_numpy_numbers(self) -> None:
        amounts = {"GPU": np.int64(1), "disk": np.float32(0.5)}
        assert Task("a", resources=amounts).resources == {"GPU": 1.0, "disk": 0.5}

    @pytest.mark.parametrize("bad", [math.inf, -math.inf, -1.0])
    def test_bytes_of_an_edge(self, bad: float) -> None:
        with pytest.raises(InvalidGraph, match="edge 'a' -> 'b' has nbytes = "):
            graph_of(Task("a"), Task("b"), edges=[Edge("a", "b", bad)])

    @pytest.mark.parametrize(
        "bad", [(0.0,), (1.0,), (0.5, 0.5), (0.7, 0.2), (math.nan,), (-1.0,), ("half",)]
    )
    def test_checkpoints(self, bad: tuple[Any, ...]) -> None:
        with pytest.raises(InvalidGraph, match="task 'b' has checkpoints"):
            graph_of(Task("a"), Task("b", checkpoints=bad))

    @pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, "one", None])
    def test_resources(self, bad: Any) -> None:
        with pytest.raises(InvalidInput, match="'GPU'"):
            Task("a", resources={"GPU": bad})

    def test_resources_of_nothing_vanish(self) -> None:
        assert Amounts({"GPU": 0, "disk": 2}) == {"disk": 2.0}
        assert Task("a", resources={"GPU": 0}) == Task("a")

    @given(value=st.floats(0, 1e15))
    def test_what_is_finite_is_kept_exactly(self, value: float) -> None:
        graph = graph_of(Task("a", seconds=value, output_bytes=value))
        again = TaskGraph.from_json(graph.to_json())
        assert again.task("a").seconds == value
        assert again.task("a").output_bytes == value


class TestEdges:
    def test_twice(self) -> None:
        with pytest.raises(InvalidGraph, match="edge 'a' -> 'b' is given twice"):
            graph_of(Task("a"), Task("b"), edges=[Edge("a", "b"), Edge("a", "b", 3.0)])

    @pytest.mark.parametrize(
        ("made", "needing", "n", "fine"),
        [(1, 1, 1, True), (4, 2, 2, True), (4, 1, 3, True), (3, 2, 3, True), (1, 5, 1, True),
         (5, 2**20, 2**52, False), (4, 2, 3, False),
          (1, 1, 2, False), (2, 3, 1, False), (3, 1, 0, False)],
    )  # fmt: skip
    def test_multiplicity_that_can_be_served(
        self, made: int, needing: int, n: int, fine: bool
    ) -> None:
        tasks = (Task("a", count=made), Task("b", count=needing))
        edges = [Edge("a", "b", None, n)]
        if fine:
            assert graph_of(*tasks, edges=edges).multiplicity.tolist() == [n]
            return
        with pytest.raises(InvalidGraph, match=r"edge 'a' -> 'b' (needs|has multiplicity)"):
            graph_of(*tasks, edges=edges)


class TestShapes:
    @pytest.mark.parametrize(
        "columns",
        [
            {"kinds": ["k"]},
            {"output_bytes": [1.0]},
            {"output_bytes": [[1.0, 2.0]]},
            {"output_bytes": "many"},
            {"count": [1, 2, 3]},
            {"mode_count": [1]},
            {"threads": [1, 1, 1]},
            {"checkpoints": [(), (), ()]},
            {"producer": [0], "consumer": [1, 1]},
            {"producer": [0], "consumer": [1], "nbytes": [1.0, 2.0]},
            {"producer": [0.5], "consumer": [1]},
        ],
    )
    def test_columns_that_do_not_fit(self, columns: dict[str, Any]) -> None:
        with pytest.raises(InvalidGraph):
            TaskGraph.from_columns(["a", "b"], **columns)

    def test_a_task_without_a_mode(self) -> None:
        with pytest.raises(InvalidGraph, match="task 'b' has modes = 0"):
            TaskGraph.from_columns(["a", "b"], mode_count=[1, 0])

    def test_modes_and_fields_of_a_mode_exclude_each_other(self) -> None:
        with pytest.raises(InvalidGraph, match="task 'a' gives modes and also"):
            graph_of(Task("a", seconds=1.0, modes=(Mode(seconds=2.0),)))


class TestBuilder:
    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"resources": -1}, "resources: expected amounts by name, such as {'GPU': 1}"),
            ({"resources": ["GPU"]}, r"resources: expected amounts .* found \['GPU'\]"),
            ({"resources": {"GPU": 10**400}}, "resources: amount of 'GPU' must be finite"),
            ({"consumes": "x"}, "consumes: expected amounts"),
            ({"eligible": -1}, "eligible is -1; give a tuple"),
            ({"eligible": "gpu"}, "eligible is the string 'gpu'"),
            ({"after": "load"}, "after is the string 'load'"),
            ({"after": None}, "after is None; give a tuple"),
            ({"checkpoints": 0.5}, r"checkpoints is 0.5; give a tuple: \(0.5,\)"),
            ({"modes": [1]}, "1 is no Mode"),
        ],
    )
    def test_what_cannot_be_is_refused_by_the_task_s_name(
        self, fields: dict[str, Any], message: str
    ) -> None:
        builder = TaskGraph.build()
        with pytest.raises(InvalidGraph, match=f"task 'a': {message}"):
            builder.task("a", **fields)
        assert builder.task("a", seconds=1.0) == "a", "the refused one left nothing behind"
        assert builder.done().names == ("a",)

    def test_a_task_that_is_not_there_leaves_nothing_behind(self) -> None:
        builder = TaskGraph.build()
        with pytest.raises(InvalidGraph, match="there is no task 'x'"):
            builder.task("a", after=["x"])
        with pytest.raises(InvalidGraph, match=r"there is no task \['x'\]"):
            builder.task("a", after=[["x"]])  # type: ignore[list-item]
        assert len(builder.done()) == 0
