"""A machine without compiled code: what a plan does there, and how the code gets there."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.plan import warm, warm_notes, warm_parts
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.crew import pool
from orchestrator_core.plan.engine import code_cache, kernel_cache
from orchestrator_core.plan.engine.compiled import Kernel, compiled, not_compiling
from orchestrator_core.plan.engine.ranks import upward_rank
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.portfolio import plan, registered
from orchestrator_core.plan.schedule import Schedule
from tests.plan.papers import topcuoglu
from tests.plan.tiny import tiny_instance, tiny_instances

HEFT = LIST_PLANNERS[0]

FEW = Budget(iterations=30)


def heft(instance) -> Schedule | None:
    return next(iter(HEFT.plan(Brief(instance)))).schedule


@compiled
def never_met(x: float) -> float:
    return 2.0 * x


@pytest.fixture
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine on which no part is there; the names of the parts that were run."""
    ran: list[str] = []
    heft(topcuoglu())  # loads numba, as the parts would that are not run
    monkeypatch.delenv(warm.WAIT, raising=False)
    monkeypatch.setattr(code_cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(warm_notes, "_there", set())
    monkeypatch.setattr(warm, "start_in_background", lambda: ran.append("background"))
    runs = {name: lambda name=name: ran.append(name) for name in warm.PARTS}
    monkeypatch.setattr(warm, "RUNS", (warm_parts.__name__,))
    monkeypatch.setattr(warm_parts, "RUNS", runs)
    warm._load.cache_clear()
    warm._load_compiler.cache_clear()
    yield ran
    warm._load.cache_clear()
    warm._load_compiler.cache_clear()


def test_every_part_can_be_run() -> None:
    assert set(warm._runs()) == set(warm.PARTS)


def test_every_planner_that_works_in_the_callers_process_has_a_part() -> None:
    for planner in registered():
        expected = planner.lane in (Lane.LIST, Lane.SEARCH)
        assert (warm.part_of(planner) in warm.PARTS) == expected, planner.name


def test_it_is_warm_once_every_part_was_run(cold: list[str]) -> None:
    assert not warm.is_warm()
    warm.compile_all()
    assert cold == list(warm.PARTS)
    assert warm.is_warm()


def test_what_compiles_does_without_nothing(cold: list[str], monkeypatch) -> None:
    """Else it would interpret what it is there to compile, and say that it is there."""
    missing: list[bool] = []
    runs = dict.fromkeys(warm.PARTS, lambda: missing.append(warm.is_missing(warm.SIMULATION)))
    monkeypatch.setattr(warm_parts, "RUNS", runs)
    warm.compile_all()
    assert missing == [False] * len(warm.PARTS)


AS_IF = """
import os
from pathlib import Path

from orchestrator_core.execute.simulate.compiling import at_once
from orchestrator_core.plan import warm
from orchestrator_core.plan.engine.compiled import may_compile


def simulation():
    group = warm.AUTOGROUP.read_text().split()[-1] if warm.AUTOGROUP.exists() else ""
    Path(os.environ["TOLD"]).write_text(f"{at_once(may_compile)} {os.nice(0)} {group}")


warm.PARTS = (warm.SIMULATION,)
warm._runs = lambda: {warm.SIMULATION: simulation}
"""
"""`sitecustomize` of a process in which the simulation tells whether it may be compiled, and how
polite the process is."""


def test_the_process_in_the_background_compiles_what_simulates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It interpreted that, and noted it as compiled: the next run then compiled it while its tasks
    waited, for half a minute."""
    (tmp_path / "sitecustomize.py").write_text(AS_IF)
    monkeypatch.delenv(warm.WAIT, raising=False)
    monkeypatch.setenv("TOLD", str(tmp_path / "told"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "code"))
    monkeypatch.setattr(warm_notes, "alone", lambda **_: contextlib.nullcontext(True))
    monkeypatch.setattr(warm, "_started", [])
    monkeypatch.syspath_prepend(tmp_path)
    warm.start_in_background()
    (process,) = warm._started
    assert process.wait(120) == 0
    may, nice, *group = (tmp_path / "told").read_text().split()
    assert (may, int(nice)) == ("True", min(19, os.nice(0) + warm.POLITE))
    assert group == [str(warm.POLITE)] * warm.AUTOGROUP.exists()


@pytest.mark.parametrize("said", ["wait", " WAIT"])
def test_what_is_missing_is_compiled_aside_and_not_waited_for(
    cold: list[str], monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """Unless somebody says that it is to be, in letters of any size as for other settings."""
    assert warm.is_missing(warm.SIMULATION)
    assert cold == ["background"]
    warm_notes.note(warm.SIMULATION)
    assert not warm.is_missing(warm.SIMULATION)
    assert warm.is_missing("heft")
    monkeypatch.setenv(warm.WAIT, said)
    assert not warm.is_missing("heft")


def test_another_version_of_a_library_has_to_compile_its_own(
    cold: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were the notes the same for both, a flow of the second environment would compile for minutes
    where it should only load."""
    warm.compile_all()
    assert warm.is_warm()
    monkeypatch.setattr(kernel_cache, "VERSIONS", "numba0.99")
    monkeypatch.setattr(warm_notes, "_there", set())
    warm_notes._stamp.cache_clear()
    try:
        assert warm.cold_parts() == set(warm.PARTS)
    finally:
        warm_notes._stamp.cache_clear()


def test_what_was_compiled_before_a_crash_counts(cold: list[str], monkeypatch) -> None:
    def crash() -> None:
        raise MemoryError

    monkeypatch.setitem(warm_parts.RUNS, "bounds", crash)
    with pytest.raises(MemoryError):
        warm.compile_all()
    before = warm.PARTS[: warm.PARTS.index("bounds")]
    assert warm.cold_parts() == set(warm.PARTS) - set(before)


def test_where_others_must_not_be_held_up_another_process_compiles(
    cold: list[str], monkeypatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr(pool, "start", lambda: started.append("helper"))
    monkeypatch.setattr(warm, "_started", [])
    warm.warm_up_aside()
    assert cold[0] == "background"
    assert set(cold) <= {"background", warm.FIRST}, "it failed, and nothing is compiled here"
    assert not started
    monkeypatch.setattr(warm, "start_in_background", warm.compile_all)
    warm.warm_up_aside()
    assert warm.is_warm()
    assert started == ["helper"]


def test_a_command_waits_for_what_plans_need_and_is_told_of_each_part(
    cold: list[str], monkeypatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(pool, "start", lambda: said.append("helper"))
    warm.compile_once(said.append)
    assert cold == [*warm.FOR_PLANS, "background"]
    assert said[0].startswith("compiling the planner, once on this machine")
    assert said[1:] == [
        *(f"{name} is compiled: {k} of 8" for k, name in enumerate(warm.FOR_PLANS, 1)),
        "helper",
    ]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("begin", [lambda: warm.compile_once(str), warm.warm_up])
def test_who_is_waited_for_does_not_wait_for_the_process_in_the_background(
    cold: list[str], monkeypatch, begin
) -> None:
    """On a busy machine that one, which is polite, took ten minutes, and a command with it."""
    monkeypatch.setattr(pool, "start", lambda: None)
    with warm_notes.alone(wait=True):
        begin()
    assert set(warm.FOR_PLANS) <= set(cold)


def test_what_measures_has_all_compiled_before_it_begins(cold: list[str], monkeypatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(pool, "start", lambda: None)
    warm.compile_once(said.append, warm.PARTS)
    assert cold == [*warm.PARTS]
    assert said[-1] == "objectives is compiled: 11 of 11"


def test_a_command_says_nothing_where_plans_are_warm(cold: list[str], monkeypatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(warm_notes, "_there", set(warm.FOR_PLANS))
    warm.compile_once(said.append)
    assert (cold, said) == (["background"], [])
    warm_notes._there.update(warm.PARTS)
    warm.compile_once(said.append)
    assert (cold, said) == (["background"], [])


def test_only_one_process_compiles(cold: list[str]) -> None:
    with warm_notes.alone(wait=True) as first, warm_notes.alone(wait=False) as second:
        assert first
        assert not second
    with warm_notes.alone(wait=False) as third:
        assert third


def test_a_plan_on_a_cold_machine_is_hefts_or_a_solvers(cold: list[str]) -> None:
    result = plan(topcuoglu(), Budget(seconds=0.3))
    assert result.makespan <= 80.0  # HEFT's
    notes = {attempt.planner: attempt.note for attempt in result.attempts}
    assert notes["local-search"] == notes["peft"] == warm.NOT_YET
    assert "background" in cold


def test_what_is_there_is_loaded_once_and_asked(cold: list[str]) -> None:
    warm.compile_all()
    cold.clear()
    warm._load.cache_clear()  # as in another process
    assert warm.load() == warm.load() == frozenset()
    assert cold == list(warm.IN_THIS_PROCESS)


def test_what_a_process_has_loaded_is_not_loaded_again(cold: list[str]) -> None:
    """Every flow run asks for it, while its first tasks want the processor."""
    warm.compile_all()
    warm.compile_all()
    assert cold == list(warm.PARTS)


def test_who_names_a_planner_waits_for_it(cold: list[str]) -> None:
    assert plan(topcuoglu(), Budget(seconds=0.3), ["peft"]).planner == "peft"
    assert cold == []


@pytest.mark.timeout(600)
def test_where_steps_are_counted_every_planner_is_asked(cold: list[str]) -> None:
    result = plan(topcuoglu(), Budget(iterations=20))
    assert warm.NOT_YET not in {attempt.note for attempt in result.attempts}


def test_interpreted_and_compiled_code_give_the_same_schedules() -> None:
    original = upward_rank.machine.overloads
    for _, instance in tiny_instances(range(12)):
        compiled_one = heft(instance)
        with not_compiling():
            assert heft(instance) == compiled_one
    assert original is upward_rank.machine.overloads


def test_nothing_is_compiled_where_there_is_no_time_for_it(monkeypatch) -> None:
    # An earlier run of this test has left it on disk.
    monkeypatch.setattr(never_met.machine._cache, "load_overload", lambda *known: None)
    with not_compiling():
        assert never_met(4.0) == 8.0
        assert not never_met.machine.overloads
    assert never_met(4.0) == 8.0
    assert len(never_met.machine.overloads) == 1


@pytest.mark.timeout(900)
def test_after_the_parts_no_plan_needs_more_code() -> None:
    """In a process of its own, which has called nothing else."""
    program = f"from {__name__} import needed_beside_parts; print(needed_beside_parts())"
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (made.returncode, made.stdout.strip()) == (0, "[]"), made.stdout + made.stderr


def needed_beside_parts() -> list[str]:
    """Kernels that plans call, with types of arguments that no part has called them with."""
    for name in (*warm.IN_THIS_PROCESS, "objectives"):
        warm_parts.RUNS[name]()
    known = _called()
    for instance in _kinds():
        for text in ("makespan", "price,tardiness", "memory,makespan"):
            _ask_all(instance, Objective.of(text))
    return sorted({name for name, _ in _called() - known})


def _called() -> set[tuple[str, Any]]:
    kernels = [each for each in gc.get_objects() if isinstance(each, Kernel)]
    made = [k for k in kernels if k.from_python and k._machine is not None]
    return {(k.py_func.__qualname__, types) for k in made for types in k.machine.signatures}


def _kinds() -> Iterator[Instance]:
    """With scarce memory, resources and dates, and plain ones with and without transfers."""
    for seed in range(12):
        with contextlib.suppress(InfeasibleInstance):
            yield tiny_instance(seed)
    for n, latency in ((6, 0.5), (40, 0.0), (120, 0.5)):
        random = np.random.default_rng(n)
        edges = [(int(random.integers(max(0, j - 8), j)), j, latency) for j in range(1, n)]
        yield Instance.from_arrays(random.random((n, 3)) + 0.5, edges, latency=latency)


def _ask_all(instance: Instance, objective: Objective) -> None:
    incumbent: Schedule | None = None
    for planner in registered():
        if planner.lane not in (Lane.LIST, Lane.SEARCH):
            continue
        if planner.unsupported(instance, objective) is None:
            for found in planner.plan(Brief(instance, FEW, objective, incumbent)):
                incumbent = incumbent or found.schedule
