"""Patterson's text (.rcp) of resource-constrained projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator_core.costs import Instance
from orchestrator_core.errors import InvalidFormat
from orchestrator_core.graph.formats import read_cluster, read_workflow

INSTANCE = Path(__file__).parents[2] / "instances" / "psplib-j30-13.rcp"

SMALL = """4 1
2
0 0 2 2 3
3 2 1 4
5 1 1
4
0 0 0
"""
"""Successors may go on in the next line, as those of activity 3 do."""


def test_a_psplib_instance_has_its_sizes_and_can_be_priced() -> None:
    graph, cluster = read_workflow(INSTANCE), read_cluster(INSTANCE)
    assert cluster is not None
    assert (len(graph), graph.n_edges) == (30, 42)
    assert graph.mode_seconds.sum() == 175
    (project,) = cluster.workers
    assert list(project.resources) == ["R1", "R2", "R3", "R4"]
    assert Instance.price(graph, cluster).seconds.shape == (30, 1)


def test_activities_that_need_the_whole_resource_follow_each_other(tmp_path: Path) -> None:
    """Activity 2 takes both units for 3 s and 3 one of them for 5 s: the best makespan is 8."""
    path = tmp_path / "small.rcp"
    path.write_text(SMALL, encoding="utf-8")
    graph, cluster = read_workflow(path), read_cluster(path)
    assert cluster is not None
    assert graph.names == ("2", "3")
    assert [dict(task.resources) for task in graph.tasks()] == [{"R1": 2}, {"R1": 1}]
    needs = sum(task.resources["R1"] for task in graph.tasks())
    assert needs > cluster.workers[0].resources["R1"], "so they cannot overlap"
    assert graph.mode_seconds.sum() == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("3 2 1 4", "3 2 1 5"), r"line 4: expected a successor of activity 2, .*found '5'"),
        (("\n2\n", "\ntwo\n"), r"line 2: expected the capacity of resource 1, .*found 'two'"),
        (("0 0 0\n", "0 0\n"), r"ends too early: expected activity 4's number of successors"),
        (("0 0 0\n", "0 0 0 1\n"), r"line 7: expected nothing after activity 4"),
        (("4 1", "0 1"), r"line 1: expected the number of activities, an integer >= 1"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    path = tmp_path / "bad.rcp"
    path.write_text(SMALL.replace(*change, 1), encoding="utf-8")
    with pytest.raises(InvalidFormat, match=message):
        read_workflow(path)
