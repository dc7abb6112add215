"""Which graphs count as like one that was not worth a plan."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask.graphs.hints import Hint
from orchestrator_core.execute.dask.plans.declined import Declined
from orchestrator_core.graph.cluster import Cluster, Worker

CLUSTER = Cluster([Worker("w0"), Worker("w1")])
NOTHING = Advice(None, "no point in it")


@dataclass(frozen=True)
class Read(Hint):
    """Says how often somebody asked what it is."""

    times = 0

    def __repr__(self) -> str:
        Read.times += 1
        return f"Read({self.seconds})"


def run(*hints: Hint) -> Any:
    """A run of a graph with a task for each of the hints."""
    keys = [f"t{i}" for i in range(len(hints))]
    snapshot = SimpleNamespace(
        prefixes=["t"] * len(hints),
        stored={},
        inputs=[()] * len(hints),
        hints=dict(zip(keys, hints, strict=True)),
    )
    return SimpleNamespace(snapshot=snapshot, cluster=CLUSTER)


@pytest.mark.parametrize(
    ("other", "is_like"),
    [
        ([Hint(seconds=1.0), Hint(seconds=2.0), Hint(seconds=1.0)], True),
        ([Hint(seconds=2.0), Hint(seconds=1.0), Hint(seconds=1.0)], True),
        ([Hint(seconds=2.0), Hint(seconds=1.0), Hint(seconds=2.0)], False),
        ([Hint(seconds=1.0), Hint(seconds=2.0)], False),
    ],
    ids=["of other objects", "in another order", "in other numbers", "of fewer tasks"],
)
def test_graphs_with_the_same_hints_as_often_are_alike(other: list[Hint], is_like: bool) -> None:
    declined, shared = Declined(), Hint(seconds=1.0)
    declined.add(run(shared, shared, Hint(seconds=2.0)), "too small", NOTHING)
    assert (declined.get(run(*other)) == "too small") is is_like


def test_a_hint_of_many_tasks_is_read_once() -> None:
    """On the scheduler's event loop, with each graph: of 20,000 tasks it took a tenth of a second,
    three times."""
    Read.times = 0
    layers = [Read(seconds=1.0)] * 1000 + [Read(seconds=2.0)] * 1000
    Declined().add(run(*layers), "too small", NOTHING)
    assert 0 < Read.times <= 2 * 2, "each layer's when the reason is noted, and with the advice"
