"""A plan that is mended on the way: what it is worth where tasks take longer than believed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator_core import Cluster, Instance, TaskGraph, Worker, plan
from orchestrator_core.execute.mending_rules import PAUSE, WORTH_SECONDS
from orchestrator_core.execute.simulate.mended import Mended
from orchestrator_core.execute.simulate.outcome import schedule_of
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.schedule import Assignment, Schedule


def equal_tasks(number: int, workers: int) -> tuple[Instance, Schedule]:
    """Tasks of 1 s, dealt out by turns."""
    graph = TaskGraph.build()
    for i in range(number):
        graph.task(f"t{i}", seconds=1.0)
    instance = Instance.price(graph.done(), Cluster([Worker(f"w{i}") for i in range(workers)]))
    rows = [
        Assignment(f"t{i}", f"w{i % workers}", float(i // workers), float(i // workers + 1))
        for i in range(number)
    ]
    return instance, Schedule(rows)


def test_as_believed_nothing_changes() -> None:
    instance, schedule = equal_tasks(8, 2)
    run = Mended(instance, schedule).run()
    assert run.makespan == 4.0
    assert run.worker == Rehearsal(instance, schedule).run().worker


def test_a_worker_begins_what_it_has_before_it_hears_of_what_it_was_to_do_first() -> None:
    """It is to run a, then b, which needs a, then c; but it was given c long before."""
    graph = TaskGraph.build()
    graph.task("a", seconds=1.0)
    graph.task("b", seconds=2.0, after=["a"])
    graph.task("c", seconds=4.0)
    instance = Instance.price(graph.done(), Cluster([Worker("w")]))
    rows = [Assignment(*row) for row in (("a", "w", 0, 1), ("b", "w", 1, 3), ("c", "w", 3, 7))]
    run = schedule_of(Mended(instance, Schedule(rows)).run())
    assert {a.task: a.start for a in run.assignments} == {"a": 0.0, "c": 1.0, "b": 5.0}


def test_what_waits_behind_a_late_task_goes_elsewhere() -> None:
    instance, schedule = equal_tasks(8, 2)
    late = instance.seconds.copy()
    late[0] = 4.0
    # t0 takes until 4 s, and t2, t4 and t6 wait for it; t1, t3, t5, t7 are done by then.
    assert Rehearsal(instance, schedule).makespan(late) == 7.0
    run = Mended(instance, schedule).run(late)
    # No order of 4 + 7 x 1 s on two workers ends before 6 s.
    assert run.makespan == 6.0
    assert run.worker[0] == 0


def test_who_has_learned_how_long_tasks_take_mends_in_time() -> None:
    instance, schedule = equal_tasks(4, 2)
    slow = instance.seconds.copy()
    slow[3, 1] = 5.0
    director = Mended(instance, schedule)
    # t3 begins at 1 s where it is planned; what has begun stays.
    assert director.run(slow).makespan == 6.0
    learned = director.believing(slow).run(slow)
    assert (learned.worker, learned.makespan) == ([0, 1, 0, 0], 3.0)
    assert director.run(slow).makespan == 6.0, "another director is none the wiser"


def test_small_gains_are_left_alone() -> None:
    instance, schedule = equal_tasks(4, 2)
    late = instance.seconds.copy()
    late[0] = 1.0 + WORTH_SECONDS / 2
    assert Mended(instance, schedule).run(late).worker == [0, 1, 0, 1]


def test_what_has_begun_stays() -> None:
    instance, schedule = equal_tasks(2, 2)
    late = instance.seconds.copy()
    late[0] = 100 * PAUSE
    run = Mended(instance, schedule).run(late)
    assert run.worker == [0, 1]
    assert run.makespan == 100 * PAUSE


@pytest.mark.parametrize("spread", [0.0, 0.5])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_whatever_comes_all_rules_are_kept(spread: float, seed: int) -> None:
    instance, table = random_run(seed, spread)
    schedule = plan(instance, planners=["heft"]).schedule
    run = Mended(instance, schedule).run(table)
    check_schedule(Instance(instance.graph, instance.cluster, table), schedule_of(run))


def random_run(seed: int, spread: float) -> tuple[Instance, np.ndarray]:
    """A random graph on unequal workers, and the durations that come."""
    dice = np.random.default_rng(seed)
    graph = TaskGraph.build()
    for i in range(int(dice.integers(1, 25))):
        above = dice.choice(i, size=min(i, int(dice.integers(0, 3))), replace=False) if i else []
        graph.task(
            f"t{i}",
            seconds=float(dice.uniform(0.1, 2.0)),
            threads=int(dice.integers(1, 3)),
            output_bytes=float(dice.choice([0.0, 1e6, 1e8])),
            release=float(dice.choice([0.0, 0.0, 1.0])),
            after=[f"t{k}" for k in above],
        )
    workers = [Worker(f"w{k}", threads=2, speed=2.0**k) for k in range(int(dice.integers(2, 5)))]
    instance = Instance.price(graph.done(), Cluster(workers))
    factors = np.exp(spread * dice.standard_normal((len(instance.seconds), 1)))
    return instance, instance.seconds * factors
