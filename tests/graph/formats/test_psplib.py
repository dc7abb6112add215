"""PSPLIB with one mode (.sm) and several (.mm)."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator_core.costs import Instance
from orchestrator_core.errors import InvalidFormat
from orchestrator_core.graph import Cluster
from orchestrator_core.graph.formats import read_cluster, read_workflow

INSTANCE = Path(__file__).parents[2] / "instances" / "mmlib-j50-2-4.mm"

SMALL = """\
************************************************************************
file with basedata            : small.bas
************************************************************************
projects                      :  1
jobs (incl. supersource/sink ):  4
horizon                       :  9
RESOURCES
  - renewable                 :  2   R
  - nonrenewable              :  1   N
  - doubly constrained        :  0   D
************************************************************************
PROJECT INFORMATION:
pronr.  #jobs rel.date duedate tardcost  MPM-Time
    1      2      0        9        0        9
************************************************************************
PRECEDENCE RELATIONS:
jobnr.    #modes  #successors   successors
   1        1          2           2   3
   2        2          1           4
   3        1          1           4
   4        1          0
************************************************************************
REQUESTS/DURATIONS:
jobnr. mode duration  R 1  R 2  N 1
------------------------------------------------------------------------
  1      1     0       0    0    0
  2      1     2       3    0    5
         2     4       1    0    0
  3      1     5       0    2    1
  4      1     0       0    0    0
************************************************************************
RESOURCEAVAILABILITIES:
  R 1  R 2  N 1
    3    2    6
************************************************************************
"""


def cluster_of(path: Path) -> Cluster:
    cluster = read_cluster(path)
    assert cluster is not None
    return cluster


def test_an_mmlib_instance_has_its_sizes_and_can_be_priced() -> None:
    graph, cluster = read_workflow(INSTANCE), cluster_of(INSTANCE)
    assert (len(graph), graph.n_modes, graph.n_edges) == (50, 150, 166)
    (project,) = cluster.workers
    assert dict(project.resources) == {"R1": 34, "R2": 30}
    assert dict(cluster.stock) == {"N1": 252, "N2": 254}
    assert Instance.price(graph, cluster).best_seconds.sum() > 0


def test_a_mode_has_its_own_time_resources_and_consumption(tmp_path: Path) -> None:
    path = tmp_path / "small.mm"
    path.write_text(SMALL, encoding="utf-8")
    graph, cluster = read_workflow(path), cluster_of(path)
    assert graph.names == ("2", "3")
    fast, slow = graph.task("2").modes
    assert (fast.seconds, dict(fast.resources), dict(fast.consumes)) == (2, {"R1": 3}, {"N1": 5})
    assert (slow.seconds, dict(slow.resources), dict(slow.consumes)) == (4, {"R1": 1}, {})
    only = graph.task("3")
    assert (only.seconds, dict(only.resources), dict(only.consumes)) == (5, {"R2": 2}, {"N1": 1})
    assert dict(cluster.stock) == {"N1": 6}
    assert cluster.workers[0].threads == 2
    assert graph.n_edges == 0, "all edges of this project touch a dummy"


def test_a_dummy_with_a_demand_stays(tmp_path: Path) -> None:
    path = tmp_path / "small.mm"
    path.write_text(SMALL.replace("1      1     0       0    0    0", "1 1 0 1 0 0"), "utf-8")
    assert read_workflow(path).names == ("1", "2", "3")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("   2   3\n", "   2   9\n"), r"line 18: expected a successor of activity 1, .*found '9'"),
        (("PRECEDENCE", "PRESIDENTS"), r"expected a section 'PRECEDENCERELATIONS', found none"),
        (("renewable                 :  2", "renewable :  many"), r"line 8: .*found 'many'"),
        (("  - renewable                 :  2   R\n", ""), r"expected a line 'renewable ... :"),
        (("constrained        :  0", "constrained        :  1"), r"1 doubly constrained resources"),
        (("         2     4 ", "         3     4 "), r"line 28: expected the mode number 2"),
        (("    3    2    6\n", "    3    2\n"), r"ends too early: expected the stock of N1"),
        (("  2      1     2  ", "  2      1   1.2.3  "), r"line 27: .*found '1\.2\.3'"),
        (("         2     4 ", "         2     4 +- "), r"line 28: .*found '\+-'"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    path = tmp_path / "bad.mm"
    assert change[0] in SMALL
    path.write_text(SMALL.replace(*change, 1), encoding="utf-8")
    with pytest.raises(InvalidFormat, match=message):
        read_workflow(path)


def test_a_long_line_that_is_no_row_of_numbers_is_passed_over_at_once(tmp_path: Path) -> None:
    """Told by tries at each of its digits, it took more than a minute."""
    path = tmp_path / "long.mm"
    row = "  1      1     0       0    0    0\n"
    path.write_text(SMALL.replace(row, "1" * 99_000 + "x\n" + row, 1), encoding="utf-8")
    assert read_workflow(path).names == ("2", "3")
