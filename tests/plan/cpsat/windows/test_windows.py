"""Windows: better, valid, repeatable, and never worse."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core import plan
from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Edge, Mode, Task, TaskGraph, Worker
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.cpsat.windows.kinds import KINDS
from orchestrator_core.plan.cpsat.windows.planner import Windows
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_core.plan.time_indexed import optimal_makespan
from tests.by_hand import serial_schedule
from tests.plan.asking import ask
from tests.plan.tiny import tiny_instances
from tests.random_instances import FLAGS, random_instance


def improved(instance: Instance, start: Schedule, iterations: int = 100, **how: object) -> Schedule:
    """The best of all proposals, each of which is checked and better than the one before."""
    planner, best = Windows(**how), start  # type: ignore[arg-type]
    budget = Budget(iterations=iterations, seed=1)
    for proposal in planner.plan(Brief(instance, budget, incumbent=start)):
        if proposal.schedule is not None:
            check_schedule(instance, proposal.schedule)
            assert proposal.schedule.makespan < best.makespan
            best = proposal.schedule
    return best


def test_partition_is_solved_from_the_longest_processing_time_rule() -> None:
    """Durations 3 3 2 2 2 on two workers: the rule gives 7, and {3, 3} {2, 2, 2} needs 6, which is
    half of all work."""
    instance = Instance.from_arrays([[d, d] for d in (3.0, 3.0, 2.0, 2.0, 2.0)], [])
    rows = [("t0", "w0", 0, 3), ("t1", "w1", 0, 3), ("t2", "w0", 3, 5), ("t3", "w1", 3, 5)]
    start = Schedule([Assignment(*row) for row in (*rows, ("t4", "w0", 5, 7))])
    assert improved(instance, start).makespan == 6.0


@pytest.mark.parametrize("flag", FLAGS)
def test_schedules_stay_valid_under_each_constraint(flag: str) -> None:
    rng = np.random.default_rng(FLAGS.index(flag))
    gained = 0
    for _ in range(2):
        instance = random_instance(rng, 10, 3, **{flag: True})
        start = serial_schedule(instance)
        gained += improved(instance, start).makespan < start.makespan
    assert gained > 0, "a serial schedule can be bettered"


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_window_keeps_schedules_valid(kind: str) -> None:
    rng = np.random.default_rng(7)
    flags = dict.fromkeys(FLAGS, True)
    instance = random_instance(rng, 10, 3, **flags)
    improved(instance, serial_schedule(instance), kinds=(kind,))


def test_a_window_trades_stock_between_tasks_far_apart_in_time() -> None:
    """A chain of thirty tasks; a task takes 1 s for a credit, else 2 s, but the last one 20 s.
    There is one credit, and the first task has it: given to the last one, 77 s become 59 s."""
    spends = Mode("a", seconds=1, consumes={"credit": 1})
    tasks = [Task(f"t{i}", modes=(spends, Mode("b", seconds=2))) for i in range(29)]
    tasks.append(Task("t29", modes=(spends, Mode("b", seconds=20))))
    edges = [Edge(f"t{i}", f"t{i + 1}") for i in range(29)]
    cluster = Cluster([Worker("w0")], stock={"credit": 1})
    instance = Instance.price(TaskGraph.from_tasks(tasks, edges), cluster)
    ends = [1.0 + 2.0 * i for i in range(29)] + [77.0]
    begins = [0.0, *ends[:-1]]
    rows = zip(range(30), begins, ends, strict=True)
    start = Schedule([Assignment(f"t{i}", "w0", a, b, mode=int(i > 0)) for i, a, b in rows])
    check_schedule(instance, start)
    assert improved(instance, start, 400, kinds=("stock",)).makespan == 59.0


def test_the_same_iterations_give_the_same_schedule() -> None:
    instance = random_instance(np.random.default_rng(3), 40, 4, encode=True, resources=True)
    start = serial_schedule(instance)
    assert improved(instance, start).to_json() == improved(instance, start).to_json()


def test_heft_and_windows_reach_nearly_every_optimum_and_pass_none() -> None:
    seen, reached = 0, 0
    for _, instance in tiny_instances(range(14)):
        start = plan(instance, Budget(seconds=0), planners=["heft"]).schedule
        if start is None:
            continue
        found, best = improved(instance, start, 40), optimal_makespan(instance, 1.0).makespan
        assert best is not None
        assert found.makespan >= best - 1e-6
        seen += 1
        reached += found.makespan <= best + 1e-6
    assert reached >= 0.9 * seen > 5


def test_an_optimal_incumbent_ends_it_at_once() -> None:
    instance = Instance.from_arrays([[2.0]], [])
    start = Schedule([Assignment("t0", "w0", 0.0, 2.0)])
    brief = Brief(instance, Budget(), incumbent=start, lower_bound=2.0)
    assert list(Windows().plan(brief)) == []


def test_a_newer_incumbent_is_taken_over() -> None:
    instance = random_instance(np.random.default_rng(5), 30, 3)
    worse = serial_schedule(instance)
    better = improved(instance, worse)
    brief = Brief(instance, Budget(iterations=300), incumbent=worse)
    for proposal in Windows().plan(brief):
        assert proposal.schedule is None or proposal.schedule.makespan < brief.incumbent.makespan
        brief.incumbent = better


def test_without_an_incumbent_it_says_so() -> None:
    instance = Instance.from_arrays([[2.0]], [])
    assert ask(Windows(), Brief(instance)).note == "there was no schedule to begin with"


def test_other_objectives_are_refused_by_name() -> None:
    instance = Instance.from_arrays([[2.0]], [])
    assert "makespan" in (Windows().unsupported(instance, Objective(("price",))) or "")
