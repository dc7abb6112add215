"""Beams: optimal where nothing is dropped, strong where no worker may be idle, never wrong."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from orchestrator_core import Budget, Instance, check_schedule, plan
from orchestrator_core.graph import Cluster, Task, TaskGraph, Worker
from orchestrator_core.plan.bounds.state import propagate
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.search.beam import Beam, Way
from orchestrator_core.plan.search.beam_search import BeamSearch
from orchestrator_core.plan.search.beam_side import sides
from orchestrator_core.plan.time_indexed import optimal_makespan
from tests.plan.asking import ask
from tests.strategies import random_instance, serial_schedule

SEARCH = BeamSearch()
WIDE = Way(width=500, twins=500, crowding=0.0, ease=0.01, chance=0.0, salt=0)


def heft(instance):
    return plan(instance, Budget(seconds=0.0), planners=["heft"]).schedule


def beams(instance, upper):
    """A beam from the beginning and one from the end, for what is shorter than `upper`."""
    state = propagate(expand(instance), upper)
    return [Beam(side, WIDE) for side in sides(expand(instance), state)]


def best_of(beam, limit):
    while not beam.ended:
        beam.go(10, limit)
    return beam.best()


def cut_without_idle_time(seed, workers=4, length=120, tasks=32):
    """Workers of different speeds that are busy from 0 to `length` with pieces of whole seconds; a
    task follows some that have ended where it starts. So `length` is optimal: the work of all fills
    all workers for as long."""
    rng = np.random.default_rng(seed)
    speed = np.array([1.0, 1.0, 2.0, 3.0])[:workers]
    pieces = []
    for w in range(workers):
        cuts = np.sort(rng.choice(np.arange(1, length), tasks // workers - 1, replace=False))
        times = [0, *cuts.tolist(), length]
        pieces += [(a, b, w) for a, b in itertools.pairwise(times)]
    edges = []
    for t, (start, _, _) in enumerate(pieces):
        before = [u for u, (_, end, _) in enumerate(pieces) if end <= start]
        edges += [(int(u), t, 0.0) for u in rng.permutation(before)[:2]]
    seconds = [[(b - a) * speed[w] / other for other in speed] for a, b, w in pieces]
    return Instance.from_arrays(seconds, edges)


@pytest.mark.parametrize("seed", range(4))
def test_it_leaves_no_worker_idle_where_that_is_possible(seed):
    instance = cut_without_idle_time(seed)
    first = heft(instance)
    budget = Budget(iterations=400_000)
    brief = Brief(instance, budget, incumbent=first, lower_bound=120.0)
    found = ask(SEARCH, brief).schedule
    assert first.makespan > 120.5
    assert found.makespan == pytest.approx(120.0)


@pytest.mark.parametrize("seed", [5, 19, 27, 29, 33, 37])
def test_of_few_tasks_it_finds_the_optimum(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, 6, 3, eligible=True, release=True, integer=True)
    first = heft(instance)
    beams = BeamSearch(most_lost=1.0)
    found = ask(beams, Brief(instance, Budget(iterations=20_000), incumbent=first)).schedule
    check_schedule(instance, found)
    assert found.makespan == optimal_makespan(instance, 1.0).makespan < first.makespan


def test_threads_of_a_worker_run_tasks_side_by_side():
    """Work of 12 s on two threads of one worker: 6 s, but only if 5 is with 1 and 4 with 2. By
    length, as HEFT goes, 5 and 4 come first, then 2 after 4 and 1 after 5."""
    workers = [Worker("w", threads=2)]
    tasks = [Task(name=f"t{s}", seconds=s) for s in (5, 4, 2, 1)]
    instance = Instance.price(TaskGraph.from_tasks(tasks, []), Cluster(workers))
    assert [best_of(beam, 7.0)[0] for beam in beams(instance, 8.0)] == [6, 6]


def test_both_ways_give_the_same_optimum():
    """a (1 or 3 s), b (4 or 2 s), c after both (1 or 1 s); what is sent takes 2 s. Both on one
    worker take 5 + 1 or 5 + 1 s; a and b each where it is fast end at 1 and 2, and c waits for a's
    way until 3 or for b's until 4: 4 s."""
    instance = Instance.from_arrays(
        [[1, 3], [4, 2], [1, 1]], [(0, 2, 2), (1, 2, 2)], seconds_per_byte=1.0
    )
    assert optimal_makespan(instance, 1.0).makespan == 4
    forward, backward = (best_of(beam, 5.0) for beam in beams(instance, 6.0))
    assert forward[0] == backward[0] == 4
    assert forward[2].tolist() == backward[2].tolist() == [0, 1, 1]


def test_nothing_is_left_within_a_limit_below_the_optimum():
    instance = cut_without_idle_time(0)
    for beam in beams(instance, 130.0):
        assert best_of(beam, 119.0) is None


def test_workers_that_are_alike_are_not_told_apart():
    """Three equal workers, no task placed yet: each task makes one step, not three."""
    instance = Instance.from_arrays([[2.0] * 3, [3.0] * 3], [])
    (beam, _) = beams(instance, 10.0)
    beam.go(1, 9.0)
    assert len(beam._parts.now) == 2


def test_a_task_that_takes_no_time_waits_for_no_thread():
    """One thread runs a (5 s); b (0 s) begins at once, so that c elsewhere ends at 2."""
    instance = Instance.from_arrays(
        [[5, np.inf], [0, np.inf], [np.inf, 2]], [(1, 2, 0)], seconds_per_byte=1.0
    )
    assert [best_of(beam, 5.0)[0] for beam in beams(instance, 6.0)] == [5, 5]


@pytest.mark.parametrize("width", [1, 3])
def test_narrow_beams_end_with_a_schedule_of_all_tasks_or_none(width):
    instance = cut_without_idle_time(1)
    state = propagate(expand(instance), 200.0)
    for side in sides(expand(instance), state):
        beam = Beam(side, Way(width, 1, 1.0, 0.02, 0.0, 0))
        found = best_of(beam, 180.0)
        assert found is None or 120.0 <= found[0] <= 180.0
        assert len(beam._parts.now) <= width


def test_it_gives_up_when_it_is_out_of_patience():
    """What is nearly optimal is not bettered; to the widest beams these would be 64."""
    instance = random_instance(np.random.default_rng(3), 20, 3, integer=True)
    first = ask(SEARCH, Brief(instance, Budget(iterations=200_000), incumbent=heft(instance)))
    brief = Brief(instance, Budget(seconds=60.0), incumbent=first.schedule)
    short, long = (ask(BeamSearch(patience=few), brief).note for few in (20, 200))
    assert 1 <= int(short.split()[0]) < int(long.split()[0]) < 64


def test_where_waiting_costs_more_than_a_third_it_leaves_the_time_to_others():
    """Four workers, and what is sent takes eight times as long as a task: hardly anything is."""
    instance = random_instance(np.random.default_rng(1), 20, 4, ccr=8.0)
    brief = Brief(instance, Budget(iterations=2_000), incumbent=heft(instance))
    declined = ask(SEARCH, brief)
    assert declined.note.startswith("waiting costs ")
    assert declined.schedule is None
    assert int(declined.note.split()[2].rstrip("%")) > 33
    assert "beams" in ask(BeamSearch(most_lost=1.0), brief).note.split()[1]


def test_where_nothing_is_sent_it_works_however_much_is_lost():
    """A chain on four workers loses three quarters and more; what else there is need not wait."""
    chain = [(t, t + 1, 0.0) for t in range(11)]
    instance = Instance.from_arrays([[3.0, 4.0, 5.0, 6.0]] * 24, chain)
    slow = serial_schedule(instance)
    note = ask(SEARCH, Brief(instance, Budget(iterations=20_000), incumbent=slow)).note
    assert not note.startswith("waiting costs")


def test_what_it_does_not_take_is_said():
    many = [[1.0, 2.0]] * 61
    sent = Instance.from_arrays(many, [(0, 1, 1.0)], seconds_per_byte=1.0)
    assert SEARCH.unsupported(sent) == "it takes 60 tasks that send; there are 61"
    assert SEARCH.unsupported(Instance.from_arrays(many, [(0, 1, 1.0)])) is None
    wide = Cluster([Worker(f"w{k}", threads=40) for k in range(2)])
    tasks = TaskGraph.from_tasks([Task(name=f"t{k}", seconds=1.0) for k in range(50)], [])
    assert SEARCH.unsupported(Instance.price(tasks, wide)) == "it takes 64 threads; there are 80"
    late = Instance.from_arrays([[1.0, 1.0]] * 3, [], deadline=9.0)
    assert SEARCH.unsupported(late) == "it takes no deadlines"
