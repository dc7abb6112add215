"""Job shops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchestrator_core.costs import Instance
from orchestrator_core.errors import InvalidFormat
from orchestrator_core.graph.formats import read_cluster, read_workflow

INSTANCE = Path(__file__).parents[2] / "instances" / "jsplib-ft06.txt"


def test_ft06_has_its_chains_and_machines() -> None:
    """Six jobs of six operations; the longest job takes 47, the busiest machine 43 (of 55)."""
    graph, cluster = read_workflow(INSTANCE), read_cluster(INSTANCE)
    assert cluster is not None
    assert (len(graph), graph.n_edges, len(cluster)) == (36, 30, 6)
    seconds = graph.mode_seconds.reshape(6, 6)
    assert seconds.sum() == 197
    assert seconds.sum(axis=1).max() == 47
    instance = Instance.price(graph, cluster)
    load = np.where(np.isfinite(instance.seconds), instance.seconds, 0).sum(axis=0)
    assert load.max() == 43
    assert (instance.eligible.sum(axis=1) == 1).all(), "an operation runs on its machine only"


def test_operations_follow_each_other_in_the_order_of_their_job(tmp_path: Path) -> None:
    path = tmp_path / "small.jsp"
    path.write_text("2 2\n1 5 0 3\n0 2 1 4\n", encoding="utf-8")
    graph = read_workflow(path)
    assert [(e.producer, e.consumer) for e in graph.edges()] == [
        ("j0.0", "j0.1"),
        ("j1.0", "j1.1"),
    ]
    assert [(t.eligible, t.seconds) for t in graph.tasks()] == [
        (("machine1",), 5),
        (("machine0",), 3),
        (("machine0",), 2),
        (("machine1",), 4),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2 2\n1 5 2 3\n0 2 1 4\n", r"line 2: expected the machine of operation 1 of job 0"),
        ("2 2\n1 5 0 3\n0 2 1\n", r"ends too early: expected the duration of operation 1 of job 1"),
        ("2 2\n1 5 0 3\n0 2 1 4 4\n", r"line 3: expected nothing after job 1"),
        ("2 0\n\n\n", r"line 1: expected the number of machines, an integer >= 1, found '0'"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.jsp"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidFormat, match=message):
        read_workflow(path)
