from __future__ import annotations

import math
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Edge, Task, Worker
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.cpsat.planner import CpSatPlanner
from orchestrator_core.plan.cpsat.size import Size, size_of
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Schedule
from tests.plan.asking import ask
from tests.plan.known import KNOWN, instance_of
from tests.plan.tiny import tiny_instances

ENOUGH = Budget(seconds=60.0)


def _searches() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "orchestrator-cpsat"]


def _hard() -> Instance:
    """Tasks of nearly equal length on five workers: hours to prove, as bins are to pack."""
    seconds = [[100.0 + (7 * t) % 31 + (5 * t * w) % 13 for w in range(5)] for t in range(32)]
    return Instance.from_arrays(seconds, [(t, t + 9, 80.0) for t in range(23)], latency=3.0)


def test_proves_the_optimum() -> None:
    known = KNOWN[6]
    proposal = ask(CpSatPlanner(), Brief(known.instance, ENOUGH))
    assert proposal.schedule is not None
    check_schedule(known.instance, proposal.schedule)
    assert proposal.schedule.makespan == known.optimum
    assert proposal.lower_bound == known.optimum
    assert proposal.note == "searched to the end"


def test_a_clock_that_is_set_back_makes_no_search_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time that it is read it stands an hour before."""
    shown = [time.time()]

    def turned_back() -> float:
        shown[0] -= 3600.0
        return shown[0]

    monkeypatch.setattr(time, "time", turned_back)
    proposal = ask(CpSatPlanner(), Brief(_hard(), Budget(seconds=0.5)))
    assert proposal.note != "searched to the end"


def test_a_deadline_far_away_is_none() -> None:
    """In ticks of 0.1 s it would be infinite."""
    seconds = [[0.1], [0.2], [0.4]]
    instance = Instance.from_arrays(seconds, [], deadline=[1e308, 1e308, 0.5])
    proposal = ask(CpSatPlanner(), Brief(instance, ENOUGH))
    assert proposal.lower_bound == pytest.approx(0.7)


def test_any_schedule_will_do_where_the_gap_may_be_infinite() -> None:
    brief = Brief(_hard(), Budget(seconds=60.0, gap=math.inf))
    proposal = ask(CpSatPlanner(), brief)
    assert proposal.schedule is not None
    check_schedule(brief.instance, proposal.schedule)
    assert proposal.note == "searched to the end"


def test_proposals_are_news_and_rise() -> None:
    bounds, spans = [], []
    for proposal in CpSatPlanner().plan(Brief(KNOWN[3].instance, ENOUGH)):
        bounds += [proposal.lower_bound] if proposal.lower_bound else []
        spans += [proposal.schedule.makespan] if proposal.schedule else []
    assert bounds == sorted(bounds)
    assert spans == sorted(set(spans), reverse=True)


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


def test_a_planner_that_is_left_stops_its_search() -> None:
    before = _searches()
    proposals = CpSatPlanner().plan(Brief(_hard(), ENOUGH))
    next(proposals)
    (search,) = (thread for thread in _searches() if thread not in before)
    proposals.close()  # type: ignore[attr-defined]
    search.join(30.0)
    assert not search.is_alive()


def test_what_others_prove_ends_the_search() -> None:
    """The incumbent may be renewed between two proposals, and so may the bound."""
    brief = Brief(_hard(), ENOUGH)
    notes = []
    for proposal in CpSatPlanner().plan(brief):
        notes.append(proposal.note)
        if proposal.schedule is not None:
            brief.lower_bound = proposal.schedule.makespan
    assert notes[-1].startswith("searched to the end")


def test_says_what_there_is_to_say_without_a_search() -> None:
    known = KNOWN[0]
    best = ask(CpSatPlanner(), Brief(known.instance, ENOUGH)).schedule
    optimal = Brief(known.instance, ENOUGH, incumbent=best, lower_bound=known.optimum)
    assert "optimal already" in ask(CpSatPlanner(), optimal).note
    assert "too few" in ask(CpSatPlanner(), Brief(known.instance, Budget(seconds=0.01))).note
    nothing = next(CpSatPlanner().plan(Brief(instance_of([], [Worker("w0")]))))
    assert nothing.schedule == Schedule([])


def test_size_counts_what_the_model_has() -> None:
    pinned = instance_of([Task(f"t{i}", seconds=1) for i in range(50)], [Worker("w0")])
    assert size_of(pinned) == Size(literals=0, intervals=50)
    free = Instance.from_arrays([[1.0, 2.0], [2.0, 1.0]], [(0, 1, 1.0)])
    assert size_of(free) == Size(literals=6, intervals=4, inputs=1)
    reason = CpSatPlanner(largest=Size(5, 100)).unsupported(free)
    assert reason == "its size: 6 choices and delays; CP-SAT is tried up to 5"


def test_inputs_of_all_from_all_make_a_model_large() -> None:
    """400 instances that each need the outputs of 400: no choice of a worker, few intervals, but
    160,000 precedences, which take seconds to state."""
    tasks = [Task("map", seconds=2, count=400), Task("reduce", seconds=1, count=400)]
    edges = [Edge("map", "reduce", multiplicity=400)]
    instance = instance_of(tasks, [Worker("w0", threads=3)], edges)
    reason = CpSatPlanner().unsupported(instance)
    assert reason == "its size: 160000 inputs; CP-SAT is tried up to 50000"


def test_interchangeable_workers_do_not_make_a_model_large() -> None:
    tasks = [Task(f"t{i}", seconds=1 + i % 3) for i in range(60)]
    instance = instance_of(tasks, [Worker(f"w{w}") for w in range(16)])
    assert CpSatPlanner(largest=Size(0, 60)).unsupported(instance) is None


def test_starts_from_any_incumbent_and_keeps_the_optimum() -> None:
    """What bounds exclude below the incumbent's makespan is never the optimum."""
    for seed, instance in tiny_instances(range(40)):
        best = ask(CpSatPlanner(workers=1), Brief(instance, ENOUGH)).schedule
        if best is None:
            continue
        brief = Brief(instance, ENOUGH, incumbent=_later(best))
        again = ask(CpSatPlanner(), brief)
        assert again.schedule is not None, seed
        assert again.schedule.makespan == best.makespan, seed
        assert again.lower_bound == pytest.approx(best.makespan, rel=1e-6), seed


def _later(schedule: Schedule) -> Schedule:
    """The same, two seconds later; it is not checked against deadlines."""
    rows = [
        replace(
            a,
            start=a.start + 2,
            end=a.end + 2,
            segments=tuple((start + 2, end + 2) for start, end in a.segments),
        )
        for a in schedule.assignments
    ]
    moves = [
        replace(t, start=t.start + 2, encoded=t.encoded + 2, end=t.end + 2)
        for t in schedule.transfers
    ]
    return Schedule(rows, moves)


def test_the_planner_s_module_keeps_ortools_out() -> None:
    program = """
import sys
from orchestrator_core.plan.cpsat.planner import CpSatPlanner
from orchestrator_core.plan.cpsat.sub_dags import SubDagPlanner
print(CpSatPlanner().name, SubDagPlanner().name, "ortools" in sys.modules)
"""
    result = subprocess.run(
        [sys.executable, "-"], input=program, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["cpsat", "sub-dags", "False"]
