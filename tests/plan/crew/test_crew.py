"""The helper's process: what it finds counts, and what happens to it costs only itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from orchestrator_core import Budget
from orchestrator_core.plan.board import Board
from orchestrator_core.plan.crew import pool
from orchestrator_core.plan.crew.agenda import Phase
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.objective import MAKESPAN
from orchestrator_core.plan.planner import Planner, Proposal
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.together import Aside
from tests.plan.crew.fakes import Fake
from tests.plan.papers import topcuoglu

ENOUGH = Budget(seconds=60.0)
HEFT = LIST_PLANNERS[:1]


@pytest.fixture
def own_helpers():
    """No helper's process is there before; nor afterwards, if it hangs."""
    pool.end_all()
    yield
    pool.end_all()


def aside(*planners: Planner, seconds: float = 60.0) -> Aside:
    board = Board(topcuoglu(), Budget(seconds=seconds), MAKESPAN)
    phase = Phase(tuple((planner, 1.0) for planner in planners))
    return Aside(board, (phase,), time.monotonic() + seconds)


def settle(work: Aside, done) -> None:
    """Exchange until `done()` holds; the test's own timeout guards it."""
    while not done():
        work.exchange(0.01)


def test_what_it_finds_counts_and_comes_from_another_process() -> None:
    work = aside(Fake(bound=60.0))
    work.wait(time.monotonic() + 60.0)
    board = work.board
    assert board.incumbent is not None
    assert (board.incumbent.makespan, board.planner) == (80.0, "fake")
    assert board.bound.seconds == 60.0
    assert board.attempts["fake"].note != f"from process {os.getpid()}"
    assert not work.busy


def test_it_is_kept_between_plans() -> None:
    notes = []
    for _ in range(2):
        work = aside(Fake())
        work.wait(time.monotonic() + 60.0)
        notes.append(work.board.attempts["fake"].note)
    assert notes[0] == notes[1]


def test_a_planner_there_hears_what_others_have_found() -> None:
    work = aside(Fake("wait for news"))
    settle(work, lambda: work.board.incumbent is not None)
    work.board.consider("another", Proposal(lower_bound=71.0), 0.0)
    work.wait(time.monotonic() + 60.0)
    assert work.board.attempts["fake"].note == "was told 71 s"


def test_planners_there_take_turns() -> None:
    """The first never ends; the second is heard all the same."""
    work = aside(Fake("go on", name="endless"), Fake(bound=70.0))
    settle(work, lambda: work.board.bound.seconds == 70.0)
    work.close()


def test_one_that_raises_is_named_and_the_others_go_on() -> None:
    work = aside(Fake("raise", name="broken"), Fake(bound=70.0))
    work.wait(time.monotonic() + 60.0)
    assert work.board.attempts["broken"].note == "failed: ZeroDivisionError: by design"
    assert work.board.bound.seconds == 70.0


def test_a_process_that_is_killed_costs_a_note() -> None:
    result = plan(topcuoglu(), ENOUGH, _registry=(*HEFT, Fake("abort")))
    assert result.makespan == 80.0
    assert result.attempts[-1].note == "its process ended (signal 9)"


def test_one_that_is_gone_when_it_is_asked_costs_no_wait(monkeypatch, own_helpers) -> None:
    """It may be killed after it was found to be alive, and before it has the question."""
    helper = pool.borrow()
    assert helper is not None
    helper.end()
    monkeypatch.setattr(pool, "borrow", lambda: helper)
    work = aside(Fake())
    work.exchange()
    assert not work.busy
    assert work.board.attempts["fake"].note == "its process ended (signal 9)"


def test_after_a_crash_the_next_plan_has_a_new_process() -> None:
    plan(topcuoglu(), ENOUGH, _registry=(*HEFT, Fake("abort")))
    result = plan(topcuoglu(), ENOUGH, _registry=(*HEFT, Fake(bound=72.0)))
    assert result.lower_bound == 72.0


def test_one_that_hangs_is_left_at_the_deadline_and_replaced(own_helpers) -> None:
    work = aside(Fake("hang"))
    settle(work, lambda: work.board.incumbent is not None)
    helper = work._helper
    assert helper is not None
    work.close()
    helper._stopped -= 3600.0  # as if the stop had been an hour ago
    again = aside(Fake(bound=72.0))
    assert again._helper is not helper
    again.wait(time.monotonic() + 60.0)
    assert again.board.bound.seconds == 72.0
    assert helper._process.poll() == -signal.SIGKILL


def test_one_that_says_nothing_is_named_and_not_asked_for_ever(own_helpers) -> None:
    work = aside(Fake("hang"))
    settle(work, lambda: work.board.incumbent is not None)
    helper = work._helper
    assert helper is not None
    work.close()
    since = helper._stopped
    silent = aside(Fake(bound=72.0))
    assert silent._helper is helper
    silent.close()
    assert silent.board.attempts["fake"].note == "had said nothing when planning ended"
    assert helper._stopped == since  # being asked again gives it no more time


def test_a_hanging_one_is_named_where_the_budget_counts_steps(monkeypatch, own_helpers) -> None:
    monkeypatch.setattr("orchestrator_core.plan.together.GRACE_BY_STEPS", 3.0)
    result = plan(topcuoglu(), Budget(iterations=1), _registry=(*HEFT, Fake("hang")))
    assert result.attempts[-1].note == "hung, and was left behind"
    assert result.makespan == 80.0


def test_answers_to_an_older_question_are_dropped() -> None:
    """The first one is left while it works; its words must not reach the second's board."""
    first = aside(Fake("go on", bound=79.0))
    settle(first, lambda: first.board.incumbent is not None)
    first.close()
    second = aside(Fake(bound=60.0))
    second.wait(time.monotonic() + 60.0)
    assert second.board.bound.seconds == 60.0


def test_a_system_without_room_for_a_process_costs_a_note(monkeypatch, own_helpers) -> None:
    def refuse(*args, **kwargs):
        raise OSError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    result = plan(topcuoglu(), ENOUGH, _registry=(*HEFT, Fake()))
    assert result.attempts[-1].note == "was not tried: the system refuses another process"


def test_it_ends_with_its_caller_and_leaves_nothing_behind() -> None:
    """The caller is killed without a chance to tidy up; its helper notices and ends."""
    program = """
import os, signal, time
from tests.plan.crew.test_crew import aside, settle
from tests.plan.crew.fakes import Fake
work = aside(Fake("go on"))
settle(work, lambda: work.board.incumbent is not None)
print(work._helper._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == -signal.SIGKILL
    pid = int(run.stdout)
    while _alive(pid):
        os.sched_yield()


def _alive(pid: int) -> bool:
    """Is there such a process, other than one that waits to be collected?"""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
