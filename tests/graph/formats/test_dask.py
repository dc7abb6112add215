"""Dask collections and low-level graphs."""

from __future__ import annotations

from operator import add

import dask.array
import dask.bag
import pytest
from dask import delayed

from orchestrator_core.errors import InvalidGraph
from orchestrator_core.graph.formats.dask import graph_of_dask
from orchestrator_core.graph.signature import graph_signature


def reduction() -> dask.array.Array:
    x = dask.array.ones((8, 8), chunks=(2, 2))
    return (x + x.T).sum()


def test_delayed_calls_are_tasks_of_their_function() -> None:
    total = delayed(sum)([delayed(abs)(-1), delayed(abs)(-2)])
    graph = graph_of_dask(total)
    assert sorted(task.kind for task in graph.tasks()) == ["abs", "abs", "sum"]
    assert graph.n_edges == 2
    assert set(graph.names) >= {total.key}


def test_an_array_is_the_graph_that_dask_would_submit() -> None:
    """Each task must name its inputs as Dask's own optimised graph does."""
    graph = graph_of_dask(reduction())
    assert len(graph) == len(set(graph.names)) > 16
    final = [i for i in range(len(graph)) if not len(graph.successors(i))]
    assert [graph.kind(i) for i in final] == ["sum-aggregate"]


def test_other_data_has_other_keys_but_the_same_signature() -> None:
    def total(start: int) -> dask.bag.Item:
        numbers = dask.bag.from_sequence(range(start, start + 20), npartitions=4)
        return numbers.map(abs).fold(add)

    first, second = graph_of_dask(total(0)), graph_of_dask(total(7))
    assert set(first.names).isdisjoint(second.names)
    assert graph_signature(first).digest == graph_signature(second).digest


def test_a_plain_graph_may_name_keys_that_read_alike() -> None:
    graph = graph_of_dask({"a": 1, 7: (abs, "a"), "7": (abs, 7), ("x", 0): [7, "7"]})
    assert graph.names == ("a", "7", "7 (str)", "('x', 0)")
    assert [(e.producer, e.consumer) for e in graph.edges()] == [
        ("a", "7"),
        ("7", "7 (str)"),
        ("7", "('x', 0)"),
        ("7 (str)", "('x', 0)"),
    ]


def test_keys_that_no_name_may_hold_are_made_readable() -> None:
    graph = graph_of_dask({"new\nline": 1, "x" * 5000: (abs, "new\nline")})
    assert graph.names[0] == "new?line"
    assert len(graph.names[1]) < 1000


def test_several_collections_share_their_tasks() -> None:
    total = dask.array.ones(10, chunks=2).sum()
    alone = graph_of_dask(total)
    assert len(graph_of_dask([total, total + 1])) == len(alone) + 1


def test_a_cycle_is_told() -> None:
    with pytest.raises(InvalidGraph, match="the graph has a cycle"):
        graph_of_dask({"a": (abs, "b"), "b": (abs, "a")})


@pytest.mark.parametrize("work", [3, "x", [], [3], None])
def test_other_things_are_refused(work: object) -> None:
    with pytest.raises(InvalidGraph, match="expected a Dask collection"):
        graph_of_dask(work)
