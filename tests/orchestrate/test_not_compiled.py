"""A machine that has not compiled what plans, which takes it minutes: nobody waits for that long.

What is interpreted instead takes time in the square of the number of tasks: half a minute for a
thousand of them, while the tasks waited.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator_core import Orchestrator
from orchestrator_core.orchestrate import decider, loading
from orchestrator_core.orchestrate.decider import MOST_INTERPRETED
from orchestrator_core.orchestrate.loading import NOT_COMPILED
from orchestrator_core.plan import warm
from orchestrator_core.store.memory import MemoryStore
from tests.orchestrate.sweep import sweep
from tests.orchestrate.test_first_answer import CLUSTER, run_of


@pytest.fixture
def store() -> MemoryStore:
    found = MemoryStore()
    found.add_run(run_of(sweep()))
    return found


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was found missing, and is being compiled in the background."""
    asked: list[str] = []
    monkeypatch.setattr(warm, "is_missing", lambda part: asked.append(part) or True)
    return asked


@pytest.mark.parametrize("hasty", [False, True])
def test_large_graphs_are_left_to_dask_meanwhile(
    store: MemoryStore, compiling: list[str], hasty: bool
) -> None:
    asked = Orchestrator(store, hasty=hasty, in_memory=hasty)
    asked.warm_up()
    large, small = sweep(MOST_INTERPRETED), sweep()
    assert len(large) > MOST_INTERPRETED
    assert asked.advise(small, CLUSTER, "sweep").adopted
    assert not compiling
    advice = asked.advise(large, CLUSTER, "sweep")
    assert (advice.plan, advice.reason) == (None, NOT_COMPILED)
    assert compiling == [warm.SIMULATION]


@pytest.mark.usefixtures("compiling")
def test_nor_are_their_pieces_planned_until_it_is_compiled(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    brisk = Orchestrator(store, brisk=True)
    for graph in (sweep(MOST_INTERPRETED), sweep()):
        assert brisk.advise(graph, CLUSTER, "sweep").reason == NOT_COMPILED
    monkeypatch.setattr(warm, "is_missing", lambda part: False)
    assert brisk.advise(sweep(), CLUSTER, "sweep").adopted


def test_once_it_is_compiled_they_are_planned(store: MemoryStore) -> None:
    advice = Orchestrator(store).advise(sweep(MOST_INTERPRETED), CLUSTER, "sweep")
    assert advice.plan is not None


def test_a_long_run_is_planned_by_the_first_answer(
    store: MemoryStore, compiling: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "is_loaded", lambda: False)
    monkeypatch.setattr(decider, "LOADING", 0.0)  # each run is long
    monkeypatch.setattr(decider, "MOST_INTERPRETED", 1)
    advice = Orchestrator(store, brisk=True).advise(sweep(), CLUSTER, "sweep")
    assert advice.plan is not None
    assert (advice.plan.planner, advice.adopted) == ("shaken-heft", True)


def test_the_first_large_run_is_a_reason_to_compile(
    compiling: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "is_loaded", lambda: False)
    brisk = Orchestrator(MemoryStore(), brisk=True)
    brisk.advise(sweep(), CLUSTER, "sweep")
    brisk.record(run_of(sweep()))
    assert not compiling  # which takes long, and small questions do without
    monkeypatch.setattr(loading, "MOST_BRISK", len(sweep()) - 1)
    brisk.record(run_of(sweep()))
    assert compiling == [warm.SIMULATION]
    brisk.close()


def test_who_waits_until_it_can_be_asked_is_told_that_this_takes_minutes(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, bool]] = []
    for compiles in (True, False):
        asked = Orchestrator(store, hasty=True, in_memory=True)

        def compiled(asked: Orchestrator = asked) -> None:
            told.append((asked.holdup, asked.is_loading))

        monkeypatch.setattr(warm, "is_compiled_aside", lambda found=compiles: found)
        monkeypatch.setattr(warm, "warm_up_aside", compiled)
        asked.warm_up()
        assert (asked.holdup, asked.is_loading) == ("", False)
    assert told == [(NOT_COMPILED, False), ("", True)]


COLD = """
import gc
from orchestrator_core import Budget, Orchestrator
from orchestrator_core.plan import warm
from orchestrator_core.plan.engine.compiled import Kernel
from orchestrator_core.store.memory import MemoryStore
from tests.orchestrate.test_first_answer_to import CLUSTER, tasks
warm.start_in_background = lambda: None
for asked in ({"objective": "price,makespan"}, {"objective": "tardiness"}, {"max_price": 20.0}):
    orchestrator = Orchestrator(MemoryStore(), budget=Budget(seconds=0.2), **asked)
    advice = orchestrator.advise(tasks(due=2.0), CLUSTER, "flow")
    assert advice.plan is not None, advice.reason
kernels = [each for each in gc.get_objects() if isinstance(each, Kernel)]
made = [each for each in kernels if each._machine is not None and each.machine.overloads]
assert not made, [each.py_func.__qualname__ for each in made]
"""


def test_plans_for_money_and_dates_do_not_wait_either(tmp_path: Path) -> None:
    """They asked for planners by name, which waits: the first such flow of a machine stood for a
    minute."""
    place = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    place.pop(warm.WAIT, None)
    asked = [sys.executable, "-c", COLD]
    told = subprocess.run(asked, capture_output=True, text=True, timeout=100, env=place)
    assert told.returncode == 0, told.stderr
