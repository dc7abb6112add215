"""Standard Task Graph Set."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator_core.costs.feasible import earliest_ends
from orchestrator_core.errors import InvalidFormat
from orchestrator_core.graph.formats import read_cluster, read_workflow

INSTANCE = Path(__file__).parents[2] / "instances" / "stg-rand0012.stg"

SMALL = """3
0 0 0
1 2 1 0
2 3 1 0
3 4 2 1 2
4 0 1 3
# Three tasks and two dummies
"""


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "marked.stg"
    path.write_text(SMALL, encoding="utf-8-sig")
    assert len(read_workflow(path)) == 3


def longest_path(path: Path) -> float:
    graph = read_workflow(path)
    end = [0.0] * len(graph)
    for task in graph.topological.tolist():
        before = [end[p] for p in graph.predecessors(task).tolist()]
        end[task] = max(before, default=0.0) + float(graph.mode_seconds[task])
    return max(end)


def test_the_published_figures_of_an_instance_come_out() -> None:
    """Its own comments say 166 edges among 50 tasks, mean time 5.06, critical path 76.

    76 is also its optimum on 4 or more processors, so dropping the dummies changed nothing.
    """
    graph = read_workflow(INSTANCE)
    assert (len(graph), graph.n_edges) == (50, 166)
    assert graph.mode_seconds.sum() == pytest.approx(50 * 5.06)
    assert longest_path(INSTANCE) == 76
    assert read_cluster(INSTANCE) is None


def test_tasks_keep_their_numbers_and_lose_the_dummies(tmp_path: Path) -> None:
    path = tmp_path / "small.stg"
    path.write_text(SMALL, encoding="utf-8")
    graph = read_workflow(path)
    assert graph.names == ("1", "2", "3")
    assert {(e.producer, e.consumer) for e in graph.edges()} == {("1", "3"), ("2", "3")}
    assert longest_path(path) == 3 + 4
    assert earliest_ends(graph, graph.mode_seconds).tolist() == [2, 3, 4]


def test_an_end_that_takes_time_is_no_dummy(tmp_path: Path) -> None:
    path = tmp_path / "small.stg"
    path.write_text(SMALL.replace("0 0 0", "0 5 0"), encoding="utf-8")
    assert read_workflow(path).names == ("0", "1", "2", "3")
    assert longest_path(path) == 5 + 3 + 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("2 3 1 0", "2 x 1 0"), r"line 4: expected the duration of task 2, .*found 'x'"),
        (("2 3 1 0", "2 -3 1 0"), r"line 4: expected the duration of task 2, .*found '-3'"),
        (("2 3 1 0", "2 nan 1 0"), r"line 4: .*found 'nan'"),
        (("2 3 1 0", "7 3 1 0"), r"line 4: expected the id 2, an integer 2 to 2, found '7'"),
        (("2 3 1 0", "2 3 1 9"), r"line 4: expected a predecessor of task 2, .*0 to 4, found '9'"),
        (("2 3 1 0", "2 3 1 2"), r"edge '2' -> '2' joins a task to itself"),
        (("4 0 1 3\n", ""), r"the file ends too early: expected the id 4"),
        (("4 0 1 3", "4 0 1 3 8"), r"line 6: expected nothing after task 4, .*found '8'"),
        (("3\n", "99999999999999999999999\n"), r"line 1: expected the number of tasks"),
        (("3\n", "+-3\n"), r"line 1: expected the number of tasks, .*found '\+-3'"),
        (("2 3 1 0", "2 3 1 --0"), r"line 4: expected a predecessor of task 2, .*found '--0'"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    path = tmp_path / "bad.stg"
    path.write_text(SMALL.replace(*change, 1), encoding="utf-8")
    with pytest.raises(InvalidFormat, match=message):
        read_workflow(path)
