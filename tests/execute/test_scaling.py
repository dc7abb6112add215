"""How many workers a run is worth: values worked out by hand, and laws on random instances."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.scaling.scaling import Recommendation, recommend, together, what_if
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task import Edge, Task
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.repair import Finished, Running, Waiting, WorkerLost, replan
from orchestrator_core.plan.schedule import Schedule
from tests.random_instances import random_instance

AMPLE = 60.0
"""Seconds that no test needs: what is asked is answered whole."""


CONSTRAINTS = ("threads", "encode", "counts", "release", "eligible", "modes")


def heft(instance: Instance) -> Schedule:
    (proposal,) = LIST_PLANNERS[0].plan(Brief(instance))
    assert proposal.schedule is not None
    return proposal.schedule


def equal(tasks: int, workers: int) -> Instance:
    """Independent tasks of one second on workers of one kind."""
    graph = TaskGraph.from_tasks(Task(f"t{i}", seconds=1.0) for i in range(tasks))
    return Instance.price(graph, Cluster([Worker(f"w{i}") for i in range(workers)]))


def chain(workers: int, length: int = 8, nbytes: float = 0.0, per_byte: float = 0.0) -> Instance:
    """Tasks of one second after each other."""
    tasks = [Task(f"t{i}", seconds=1.0, output_bytes=nbytes) for i in range(length)]
    edges = [Edge(f"t{i}", f"t{i + 1}") for i in range(length - 1)]
    members = [Worker(f"w{i}") for i in range(workers)]
    cluster = Cluster.from_matrices(members, seconds_per_byte=per_byte)
    return Instance.price(TaskGraph.from_tasks(tasks, edges), cluster)


# --- one more, one fewer ---------------------------------------------------------------------


def test_a_third_worker_takes_eight_equal_tasks_from_four_seconds_to_three() -> None:
    """ceil(8 / 2) = 4, ceil(8 / 3) = 3; one worker alone takes 8."""
    instance = equal(tasks=8, workers=2)
    found = what_if(instance, heft(instance), seconds=AMPLE)
    assert found.makespan == 4.0
    assert found.more == {"worker": 3.0}
    assert found.fewer == {"w0": 8.0, "w1": 8.0}


def test_a_chain_gains_nothing_from_more_and_loses_nothing_by_idle_workers() -> None:
    instance = chain(workers=3)
    found = what_if(instance, heft(instance), seconds=AMPLE)
    assert found.makespan == 8.0
    assert found.more == {"worker": 8.0}
    assert found.fewer == {"w0": 8.0, "w1": 8.0, "w2": 8.0}


def test_each_kind_is_asked_for() -> None:
    """12 tasks of 1 s on a worker of speed 2 and one of speed 1: 4 s (8 and 4 of them). Another
    fast one: three workers do 5 tasks a second, so at least 2.4 s, and 2.5 s in half seconds; the
    slow one does 2 of them in 2 s, the fast ones 5 each in 2.5 s. Another slow one: 3 s (6, 3, 3).
    """
    graph = TaskGraph.from_tasks(Task(f"t{i}", seconds=1.0) for i in range(12))
    cluster = Cluster([Worker("f", kind="fast", speed=2.0), Worker("s", kind="slow")])
    instance = Instance.price(graph, cluster)
    found = what_if(instance, heft(instance), seconds=AMPLE)
    assert found.makespan == 4.0
    assert found.more == {"fast": 2.5, "slow": 3.0}
    assert found.fewer == {"s": 6.0, "f": 12.0}


def test_one_more_of_a_kind_is_like_most_of_it() -> None:
    """As above, where the fast worker is of the slow one's kind: a fast one cannot be ordered."""
    graph = TaskGraph.from_tasks(Task(f"t{i}", seconds=1.0) for i in range(12))
    cluster = Cluster([Worker("f", kind="w~x2", speed=2.0), Worker("s", kind="w")])
    instance = Instance.price(graph, cluster)
    found = what_if(instance, heft(instance), seconds=AMPLE)
    assert found.more == {"w": 3.0}
    assert recommend(instance, heft(instance), seconds=AMPLE).bought.keys() == {"w"}


def test_in_the_middle_of_a_run_only_the_rest_counts() -> None:
    """At 1.5 s on two workers: two tasks have ended, two run until 2, four wait. A third worker
    starts one of these at 1.5; the last ends at 3.5 instead of 4."""
    instance = equal(tasks=8, workers=2)
    found = what_if(instance, heft(instance), 1.5, seconds=AMPLE)
    assert found.makespan == 4.0
    assert found.more == {"worker": 3.5}


def test_what_is_reported_counts_and_not_what_was_planned() -> None:
    """Both workers are slow: at 3 s the first two tasks of eight still run, until 4 s, and six are
    left. On two workers the last ends at 7 s; a third starts one at 3 s, and three in a row end at
    6 s at the latest: 3-6 on it, 4-6 and 4-5 on the others."""
    instance = equal(tasks=8, workers=2)
    schedule = heft(instance)
    first = [a for a in schedule.assignments if a.start == 0.0]
    events = [Running(a.task, 4.0, start=0.0, worker=a.worker) for a in first]
    others = {a.task for a in schedule.assignments if a.start <= 3.0} - {a.task for a in first}
    events += [Waiting(task) for task in sorted(others)]
    found = what_if(instance, schedule, 3.0, events=events, seconds=AMPLE)
    assert found.makespan == 7.0
    assert found.more == {"worker": 6.0}


def test_a_repaired_schedule_with_its_events_is_no_other_run() -> None:
    """The repair forgets transfers of the past, as Dask forgets outputs; the past stays."""
    instance = random_instance(np.random.default_rng(3), 60, 4)
    schedule = heft(instance)
    now = schedule.makespan / 3
    events = [
        Finished(a.task, a.end, start=a.start, worker=a.worker)
        if a.end <= now
        else Running(a.task, a.end, start=a.start, worker=a.worker)
        for a in schedule.assignments
        if a.start < now
    ]
    repaired = replan(instance, schedule, now, events, forgets=True).schedule
    plain = what_if(instance, schedule, now, events=events, seconds=AMPLE)
    found = what_if(instance, repaired, now, events=events, seconds=AMPLE)
    assert found.makespan <= plain.makespan * 1.01
    assert found.fewer.keys() == plain.fewer.keys()
    gone = [*events, WorkerLost("w1")]
    found = what_if(instance, repaired, now, events=gone, seconds=AMPLE)
    assert set(found.fewer) == {"w0", "w2", "w3"}


def test_a_worker_that_retires_hands_its_output_on_first() -> None:
    """At 2.5 s, t0 and t1 have ended on w0, and t2 has to start again on w1: 2.5 + 6 = 8.5 s. The
    output of t1, 1e6 bytes at 1e-7 s each, takes 0.1 s to move; that of t0 is needed no more."""
    instance = chain(workers=2, nbytes=1e6, per_byte=1e-7)
    found = what_if(instance, heft(instance), 2.5, seconds=AMPLE)
    assert found.fewer == {"w1": 8.0, "w0": pytest.approx(8.6)}


def test_the_only_worker_that_may_run_a_task_cannot_go() -> None:
    tasks = [Task(f"t{i}", seconds=1.0) for i in range(4)]
    pinned = Task("pinned", seconds=1.0, eligible=("w1",))
    cluster = Cluster([Worker("w0"), Worker("w1"), Worker("w2")])
    instance = Instance.price(TaskGraph.from_tasks([*tasks, pinned]), cluster)
    schedule = heft(instance)
    assert what_if(instance, schedule, seconds=AMPLE).fewer["w1"] == math.inf
    assert "w1" not in recommend(instance, schedule, seconds=AMPLE, maximum=3).retire


def test_of_two_workers_that_share_a_pinned_task_one_stays() -> None:
    pinned = Task("pinned", seconds=1.0, eligible=("w0", "w1"))
    cluster = Cluster([Worker("w0"), Worker("w1"), Worker("w2")])
    instance = Instance.price(TaskGraph.from_tasks([pinned]), cluster)
    retire = recommend(instance, heft(instance), seconds=AMPLE).retire
    assert len(retire) == 2
    assert "w2" in retire


def test_workers_that_left_count_no_more() -> None:
    instance = equal(tasks=8, workers=3)
    found = what_if(instance, heft(instance), lost=["w2"], seconds=AMPLE)
    assert found.makespan == 4.0
    assert set(found.fewer) == {"w0", "w1"}
    with pytest.raises(InvalidInput, match="all workers are lost"):
        what_if(instance, heft(instance), lost=["w0", "w1", "w2"])


def test_without_time_only_the_makespan_is_known() -> None:
    instance = equal(tasks=8, workers=2)
    found = what_if(instance, heft(instance), seconds=0.0)
    assert (found.makespan, dict(found.more), dict(found.fewer)) == (4.0, {}, {})


# --- how many --------------------------------------------------------------------------------


def test_eight_equal_tasks_are_worth_eight_workers_and_a_chain_is_worth_one() -> None:
    instance = equal(tasks=8, workers=2)
    found = recommend(instance, heft(instance), seconds=AMPLE)
    assert (found.workers, found.makespan) == (8, 1.0)
    instance = chain(workers=4)
    found = recommend(instance, heft(instance), seconds=AMPLE)
    assert (found.workers, found.makespan) == (1, 8.0)
    assert len(found.retire) == 3


def test_the_smallest_cluster_that_is_as_good_as_the_largest_possible_one() -> None:
    """Seven workers take two rounds for eight tasks, and so do four."""
    instance = equal(tasks=8, workers=2)
    found = recommend(instance, heft(instance), maximum=7, seconds=AMPLE)
    assert (found.workers, found.makespan) == (4, 2.0)


@pytest.mark.parametrize(("deadline", "workers"), [(1.0, 8), (2.5, 4), (3.0, 3), (8.0, 1)])
def test_the_smallest_cluster_that_meets_a_deadline(deadline: float, workers: int) -> None:
    instance = equal(tasks=8, workers=2)
    found = recommend(instance, heft(instance), deadline=deadline, seconds=AMPLE)
    assert found.workers == workers
    assert found.makespan <= deadline


def test_what_meets_its_deadline_easily_may_be_kept_as_fast_as_it_is() -> None:
    """Without that, 10 s for 8 tasks would be one worker's work."""
    instance = equal(tasks=8, workers=4)
    found = recommend(instance, heft(instance), deadline=10.0, may_slow=False, seconds=AMPLE)
    assert (found.workers, found.makespan) == (4, 2.0)
    idle = chain(workers=4)
    found = recommend(idle, heft(idle), deadline=10.0, may_slow=False, seconds=AMPLE)
    assert found.workers == 1


def test_a_deadline_that_cannot_be_met_is_missed_by_as_little_as_possible() -> None:
    instance = equal(tasks=8, workers=2)
    found = recommend(instance, heft(instance), deadline=0.5, seconds=AMPLE)
    assert (found.workers, found.makespan) == (8, 1.0)


def test_a_deadline_that_is_no_moment_is_refused() -> None:
    instance = equal(tasks=8, workers=2)
    with pytest.raises(InvalidInput, match="the deadline is no number of seconds"):
        recommend(instance, heft(instance), deadline=math.nan, seconds=AMPLE)


def test_the_numbers_that_are_possible_are_kept() -> None:
    instance = chain(workers=4)
    schedule = heft(instance)
    assert recommend(instance, schedule, minimum=3, seconds=AMPLE).workers == 3
    assert recommend(instance, schedule, minimum=6, seconds=AMPLE).workers == 6
    instance = equal(tasks=8, workers=4)
    found = recommend(instance, heft(instance), maximum=2, seconds=AMPLE)
    assert (found.workers, found.makespan) == (2, 4.0)
    with pytest.raises(InvalidInput, match="1 <= minimum <= maximum"):
        recommend(instance, heft(instance), minimum=5, maximum=4)
    with pytest.raises(InvalidInput, match="no worker of kind 'gpu'"):
        recommend(instance, heft(instance), kind="gpu")


def test_the_idle_worker_goes_first_and_of_two_idle_ones_the_one_that_holds_less() -> None:
    instance = chain(workers=3)
    schedule = heft(instance)
    (busy,) = {assignment.worker for assignment in schedule.assignments}
    first, second = (name for name in instance.cluster.names if name != busy)
    for held in ({first: 5.0, second: 9.0}, {first: 9.0, second: 5.0}):
        found = recommend(instance, schedule, held=held, seconds=AMPLE)
        assert list(found.retire) == sorted(held, key=lambda name: held[name])


def test_who_stays_has_room_for_twice_what_is_held() -> None:
    instance = chain(workers=4)
    members = [replace(worker, memory=100.0) for worker in instance.cluster.workers]
    instance = Instance.price(instance.graph, Cluster(members))
    found = recommend(instance, heft(instance), held={"w3": 120.0}, seconds=AMPLE)
    assert found.workers == 3
    assert len(found.retire) == 1


def test_seconds_bought_for_a_price() -> None:
    """8 tasks on a cheap and a dear worker take 4 s; a third takes one second off."""
    cluster = Cluster([Worker("a", kind="cheap", price=0.5), Worker("b", kind="dear", price=4.0)])
    graph = TaskGraph.from_tasks(Task(f"t{i}", seconds=1.0) for i in range(8))
    instance = Instance.price(graph, cluster)
    found = recommend(instance, heft(instance), seconds=AMPLE)
    assert found.bought == {"cheap": 2.0, "dear": 0.25}
    free = equal(tasks=8, workers=2)
    assert recommend(free, heft(free), seconds=AMPLE).bought == {"worker": math.inf}
    alone = chain(workers=1)
    assert recommend(alone, heft(alone), seconds=AMPLE).bought == {"worker": 0.0}


# --- several runs ----------------------------------------------------------------------------


def test_what_runs_want_adds_up_and_only_a_worker_that_all_let_go_may_go() -> None:
    first = Recommendation(6, 10.0, ("a", "b"), {"worker": 1.0})
    second = Recommendation(5, 20.0, ("b", "c"), {"worker": 0.5})
    both = together([first, second], present=4)
    assert (both.workers, both.makespan) == (4 + 2 + 1, 20.0)
    assert both.retire == ("b",)
    assert both.bought == {"worker": 1.5}


def test_runs_that_want_fewer_keep_a_share_each() -> None:
    small = Recommendation(1, 10.0, ("a", "b", "c"), {})
    assert together([small, small], present=4).workers == 2
    assert together([small] * 9, present=4).workers == 4


# --- laws ------------------------------------------------------------------------------------


@settings(max_examples=12)
@given(st.integers(0, 10_000), st.floats(0.0, 1.0), st.sets(st.sampled_from(CONSTRAINTS)))
def test_more_is_never_worse_and_fewer_never_better(
    seed: int, part: float, flags: set[str]
) -> None:
    instance = random_instance(np.random.default_rng(seed), 12, 3, **dict.fromkeys(flags, True))
    schedule = heft(instance)
    now = part * schedule.makespan
    found = what_if(instance, schedule, now, seconds=AMPLE)
    assert found.makespan <= schedule.makespan * (1 + 1e-9)
    assert set(found.fewer) == set(instance.cluster.names)
    assert all(each <= found.makespan for each in found.more.values())
    assert all(each >= found.makespan for each in found.fewer.values())


@settings(max_examples=6)
@given(st.integers(0, 10_000), st.floats(0.0, 0.9))
def test_a_larger_maximum_never_makes_the_recommendation_slower(seed: int, part: float) -> None:
    instance = random_instance(np.random.default_rng(seed), 12, 3)
    schedule = heft(instance)
    now = part * schedule.makespan
    found = [
        recommend(instance, schedule, now, maximum=most, slack=0.0, seconds=AMPLE)
        for most in (1, 2, 3, 4, 6, 12)
    ]
    makespans = [each.makespan for each in found]
    assert all(each.workers <= most for each, most in zip(found, (1, 2, 3, 4, 6, 12), strict=True))
    assert all(later <= sooner + 1e-9 for sooner, later in pairwise(makespans))
    assert np.isfinite(makespans[2:]).all()
