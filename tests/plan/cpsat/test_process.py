from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Task, Worker
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.cpsat import process
from orchestrator_core.plan.cpsat.planner import CpSatPlanner
from orchestrator_core.plan.cpsat.wire import Answer, decode_answer, encode_answer
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.plan.asking import ask
from tests.plan.known import KNOWN, instance_of

ENOUGH = Budget(seconds=60.0)
SHORT = Budget(seconds=1.0)

Fault = Callable[[str], list[subprocess.Popen[bytes]]]


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Fault:
    """Replaces the solver's process by a Python program; returns the processes that are started."""

    def replace(program: str) -> list[subprocess.Popen[bytes]]:
        started: list[subprocess.Popen[bytes]] = []

        class Recorded(subprocess.Popen[bytes]):
            def __init__(self, *args: object, **kwargs: object) -> None:
                super().__init__(*args, **kwargs)  # type: ignore[call-overload]
                started.append(self)

        monkeypatch.setattr(process, "command", lambda: [sys.executable, "-S", "-c", program])
        monkeypatch.setattr(process.subprocess, "Popen", Recorded)
        return started

    return replace


def _instance() -> Instance:
    return instance_of([Task("a", seconds=3), Task("b", seconds=3)], [Worker("w0")])


def _plan(budget: Budget) -> Proposal:
    return ask(CpSatPlanner(), Brief(_instance(), budget))


def _line(start_of_b: float) -> str:
    rows = [Assignment("a", "w0", 0, 3), Assignment("b", "w0", start_of_b, start_of_b + 3)]
    return repr(encode_answer(Answer(4.0, Schedule(rows))))


def _gone(started: list[subprocess.Popen[bytes]]) -> bool:
    """One was started, has ended, and has been waited for: the system knows no such child."""
    (only,) = started
    with pytest.raises(ChildProcessError):
        os.waitpid(only.pid, os.WNOHANG)
    return only.returncode is not None


def test_plans_in_a_process_of_its_own() -> None:
    known = KNOWN[6]
    proposal = ask(CpSatPlanner(), Brief(known.instance, ENOUGH))
    assert proposal.schedule is not None
    check_schedule(known.instance, proposal.schedule)
    assert proposal.schedule.makespan == known.optimum
    assert proposal.lower_bound == known.optimum
    assert proposal.note == "searched to the end"


def test_iterations_give_the_same_schedule_from_any_thread() -> None:
    instance, found = KNOWN[3].instance, list[Proposal]()

    def plan() -> None:
        found.append(ask(CpSatPlanner(), Brief(instance, Budget(iterations=200))))

    threads = [threading.Thread(target=plan) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0].schedule is not None
    assert found[0] == found[1]


def test_works_where_main_cannot_be_imported_and_keeps_ortools_out() -> None:
    program = """
from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.cpsat.planner import CpSatPlanner
from orchestrator_core.plan.planner import Brief
import sys
instance = Instance.from_arrays([[2.0, 3.0], [2.0, 3.0]], [])
proposal = next(CpSatPlanner().plan(Brief(instance, Budget(60.0))))
print(proposal.schedule.makespan, proposal.lower_bound, "ortools" in sys.modules)
"""
    result = subprocess.run(
        [sys.executable, "-"], input=program, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["3.0", "3.0", "False"]


def test_the_solver_s_process_starts_without_pandas() -> None:
    """Its import would take most of the start."""
    program = """
from orchestrator_core.plan.cpsat import child
import sys
child._import_without_pandas()
from orchestrator_core.plan.cpsat import solve
print("ortools" in sys.modules, *(m for m in ("pandas", "numba", "scipy") if m in sys.modules))
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["True"]


@pytest.mark.parametrize(
    ("program", "note"),
    [
        ("import os; os.abort()", r"failed \(signal 6\)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", r"failed \(signal 9\)"),
        ("raise MemoryError('no more')", r"failed \(exit status 1\): MemoryError: no more"),
        ("print('{not json'); print(b'\\xff'); print('{}')", "no last answer that can be read"),
        ("", "no last answer that can be read"),
    ],
)
def test_a_process_that_fails_costs_a_note(fault: Fault, program: str, note: str) -> None:
    started = fault(program)
    proposal = _plan(ENOUGH)
    assert proposal.schedule is None
    assert proposal.lower_bound == 0.0
    assert re.search(note, proposal.note)
    assert _gone(started)


def test_a_process_that_cannot_be_started_costs_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "command", lambda: ["/nowhere/python"])
    proposal = _plan(ENOUGH)
    assert proposal.schedule is None
    assert "cannot be started" in proposal.note


def test_a_process_that_hangs_is_ended_at_the_deadline(fault: Fault) -> None:
    started = fault("import signal; [signal.pause() for _ in iter(int, 1)]")
    proposal = _plan(SHORT)
    assert proposal == Proposal(None, 0.0, "the solver's process was ended at the deadline")
    assert _gone(started)


def test_what_a_hanging_process_has_started_is_ended_too(fault: Fault) -> None:
    """It would keep our end of the pipe open."""
    started = fault(
        "import subprocess, sys, signal\n"
        "subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        "signal.pause()"
    )
    assert "ended at the deadline" in _plan(SHORT).note
    assert _gone(started)


def test_what_was_told_before_a_hang_counts(fault: Fault) -> None:
    started = fault(
        f"import os, signal; os.write(1, {_line(3.0)}); os.write(1, b'{{half a li'); signal.pause()"
    )
    proposal = _plan(SHORT)
    assert proposal.schedule is not None
    assert proposal.schedule.makespan == 6.0
    assert proposal.lower_bound == 4.0
    assert "ended at the deadline" in proposal.note
    assert _gone(started)


def test_with_iterations_only_the_last_word_counts(fault: Fault) -> None:
    """What came before a crash depends on how fast the machine is."""
    fault(f"import os; os.write(1, {_line(3.0)}); os.abort()")
    proposal = _plan(Budget(iterations=10))
    assert proposal.schedule is None
    assert proposal.lower_bound == 0.0


def test_an_invalid_schedule_is_not_passed_on(fault: Fault) -> None:
    fault(f"import os; os.write(1, {_line(1.0)})")
    proposal = _plan(ENOUGH)
    assert proposal.schedule is None
    assert proposal.lower_bound == 0.0
    assert "invalid schedule" in proposal.note


def test_a_budget_below_the_start_of_a_process_starts_none(fault: Fault) -> None:
    started = fault("")
    assert "too few to start a solver" in _plan(Budget(seconds=0.1)).note
    assert started == []


def test_nothing_is_started_for_what_is_optimal_already(fault: Fault) -> None:
    started = fault("")
    incumbent = Schedule([Assignment("a", "w0", 0, 3), Assignment("b", "w0", 3, 6)])
    proposal = ask(CpSatPlanner(), Brief(_instance(), ENOUGH, incumbent=incumbent, lower_bound=6.0))
    assert proposal == Proposal(None, 0.0, "the incumbent is optimal already")
    assert started == []


def test_says_what_is_too_large() -> None:
    planner = CpSatPlanner(largest=10)
    assert planner.unsupported(_instance()) is None
    large = instance_of([Task("a", seconds=1, count=6)], [Worker("w0"), Worker("w1")])
    assert planner.unsupported(large) == (
        "its size: 6 task instances have 12 choices of a mode and a worker; "
        "CP-SAT is tried up to 10"
    )


def test_answers_survive_the_wire() -> None:
    answer = Answer(1.5, Schedule([Assignment("a", "w0", 0, 3)]), "OPTIMAL")
    assert decode_answer(encode_answer(answer)) == answer
    assert decode_answer(encode_answer(Answer(0.0))) == Answer(0.0)
    assert decode_answer(b"[1, 2]") is None
