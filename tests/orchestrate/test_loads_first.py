"""A scheduler that knows no run loads what plans when it first has something to plan; no graph
waits for that."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from orchestrator_core import Cluster, Orchestrator, TaskGraph, Worker
from orchestrator_core.orchestrate.decider import LOADS_FIRST
from orchestrator_core.plan import warm
from orchestrator_core.store.memory import MemoryStore

UNLIKE = Cluster([Worker("w0", speed=4.0, price=1.0), Worker("w1", price=1.0)])
ALIKE = Cluster([Worker("w0"), Worker("w1")])

SOON = 60.0
"""Seconds that nothing takes, on however busy a machine."""


def stated() -> TaskGraph:
    """Whose author says how long each task takes, so that it can be planned when it first comes."""
    builder = TaskGraph.build()
    for i in range(8):
        builder.task(f"t{i}", kind="t", seconds=1.0)
    return builder.done()


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Loading takes until this is set."""
    gate = threading.Event()
    monkeypatch.setattr(warm, "warm_up_aside", lambda: gate.wait(SOON))
    yield gate
    gate.set()


def loaders() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "orchestrator-load"]


@pytest.mark.parametrize("objective", ["makespan", "price,makespan"])
def test_the_first_graph_that_can_be_planned_is_put_off_until_it_is_loaded(
    loaded: threading.Event, objective: str
) -> None:
    """Its tasks waited for their plan as long as they may, while who was asked loaded."""
    scheduler = Orchestrator(MemoryStore(), hasty=True, in_memory=True, objective=objective)
    scheduler.warm_up()
    assert not loaders(), "it may never have anything to plan"
    first = scheduler.advise(stated(), UNLIKE, "flow")
    again = scheduler.advise(stated(), UNLIKE, "flow")
    for advice in (first, again):
        assert (advice.plan, advice.reason, advice.put_off) == (None, LOADS_FIRST, True)
    (loader,) = loaders()
    loaded.set()
    loader.join(SOON)
    assert not scheduler.is_loading
    later = scheduler.advise(stated(), UNLIKE, "flow")
    assert later.plan is not None
    assert not later.put_off


def test_what_needs_no_planner_is_answered_at_once(loaded: threading.Event) -> None:
    """Of a graph that it knows nothing of, and of workers that are alike."""
    scheduler = Orchestrator(MemoryStore(), hasty=True, in_memory=True)
    scheduler.warm_up()
    builder = TaskGraph.build()
    builder.task("t", kind="t")
    for graph, cluster in ((builder.done(), UNLIKE), (stated(), ALIKE)):
        advice = scheduler.advise(graph, cluster, "flow")
        assert (advice.plan, advice.put_off) == (None, False)
    assert not loaders()
