"""What a process remembers of earlier plans and runs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from orchestrator_core.costs.observation import Observation
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.orchestrate import memory
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.store.base import ScheduleKey
from orchestrator_core.store.memory import MemoryStore
from tests.store.records import KEY, a_run, stored

MOST = 4
"""Schedules that are kept in memory here, so that a few are too many."""


def key(number: int) -> ScheduleKey:
    return replace(KEY, graph_signature=f"graph-{number}")


def test_of_too_many_schedules_the_oldest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where as many were stored as fit, a scheduler found none again that it had made itself."""
    monkeypatch.setattr(memory, "REMEMBERED", MOST)
    store = MemoryStore()
    store.add_run(a_run())
    for number in range(MOST):
        store.put(stored(key=key(number), used_at=float(number)))
    remembering = Memory(store, in_memory=True)
    assert remembering.refresh() is not None
    again, new = stored(2.5, key=key(2)), stored(key=key(MOST))
    for each in (again, new):
        remembering.keep(each)
    assert remembering.find(key(0)) is None
    assert remembering.find(key(2)) == again
    assert remembering.find(key(MOST)) == new
    assert all(remembering.find(key(number)) for number in range(1, MOST + 1))
    remembering.close()


class Interrupting(MemoryStore):
    """A store that is read just when something else goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: Memory | None = None
        self.read = 0

    def observations(self, kinds: Collection[str], limit_per_kind: int = 2000) -> list[Observation]:
        found = super().observations(kinds, limit_per_kind)
        self.read += 1
        if self.read == 1 and self.memory is not None:
            run = a_run()
            self.memory.remember(lambda: run, len(run.tasks), lambda outcome: None)
            self.memory.settle(10)
        return found


def test_what_is_learned_while_a_run_is_written_is_learned_anew() -> None:
    """What was read before that run was kept for what had been read after it."""
    store = Interrupting()
    store.memory = remembering = Memory(store, in_memory=False)
    workers = Cluster([Worker("w0", kind="big")]).workers
    assert not remembering.costs(("load", "fit"), workers).kinds
    assert remembering.costs(("load", "fit"), workers).kinds
    remembering.close()
