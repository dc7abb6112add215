"""The local search: never worse than where it began, better where there is something to find."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core import Budget, Instance, check_schedule, plan
from orchestrator_core.graph import Cluster, Task, TaskGraph, Worker
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.search.local_search import LocalSearch
from orchestrator_core.plan.time_indexed import optimal_makespan
from tests.plan.asking import ask
from tests.plan.papers import topcuoglu
from tests.strategies import random_instance

SEARCH = LocalSearch()


def improved(instance, iterations=2_000, seed=0):
    """HEFT's schedule, and what the search makes of it."""
    begin = plan(instance, Budget(seconds=0.0), planners=["heft"]).schedule
    budget = Budget(seed=seed, iterations=iterations)
    return begin, ask(SEARCH, Brief(instance, budget, incumbent=begin)).schedule


def test_it_finds_the_optimum_of_the_example_of_the_heft_paper():
    """HEFT's 80 is not optimal: CP-SAT proves 73."""
    begin, found = improved(topcuoglu(), iterations=50_000)
    assert (begin.makespan, found.makespan) == (80, 73)


def test_it_moves_a_task_away_from_the_worker_that_looked_best():
    """
    a (1 s on w0, 2 s on w1) -> b (9 s on w0, 1 s on w1); moving a's output takes 5 s.

    HEFT puts a where it ends first, on w0, and pays for the way: 1 + 5 + 1 = 7 s. Both on w1 take
    3 s, and nothing takes less: b alone needs w1 or 9 s.
    """
    instance = Instance.from_arrays([[1, 2], [9, 1]], [(0, 1, 5)], seconds_per_byte=1.0)
    begin, found = improved(instance, iterations=200)
    assert (begin.makespan, found.makespan) == (7, 3)


@pytest.mark.parametrize("seed", range(12))
def test_its_schedules_are_valid_and_shorter(seed):
    rng = np.random.default_rng(seed)
    traits = {"threads": False, "modes": seed % 2 == 0, "counts": seed % 3 == 0}
    instance = random_instance(rng, 12, 3, eligible=True, release=True, **traits)
    if SEARCH.unsupported(instance):
        pytest.skip("drawn with a constraint that it does not take")
    begin, found = improved(instance, iterations=300, seed=seed)
    if found is not None:
        check_schedule(instance, found)
        assert found.makespan < begin.makespan


def test_the_same_seed_and_steps_give_the_same_bytes():
    instance = random_instance(np.random.default_rng(1), 30, 4)
    first, again = (improved(instance)[1].to_json() for _ in range(2))
    assert first == again


def test_another_seed_searches_elsewhere():
    instance = random_instance(np.random.default_rng(1), 30, 4)
    assert improved(instance, 50, seed=1)[1] != improved(instance, 50, seed=2)[1]


def test_a_proven_optimum_ends_the_search_at_once():
    instance = topcuoglu()
    begin = plan(instance, Budget(seconds=0.0), planners=["heft"]).schedule
    brief = Brief(instance, Budget(iterations=10**9), incumbent=begin, lower_bound=begin.makespan)
    proposal = ask(SEARCH, brief)
    assert proposal.schedule is None


@pytest.mark.parametrize("constraint", ["memory", "encode"])
def test_it_says_what_it_cannot_take(constraint):
    instance = random_instance(np.random.default_rng(3), 8, 2, **{constraint: True})
    assert "threads" in SEARCH.unsupported(instance)


def test_it_takes_the_objectives_that_grow_with_every_end():
    instance = topcuoglu()
    assert SEARCH.unsupported(instance, Objective(("tardiness", "makespan"))) is None
    assert "price" in SEARCH.unsupported(instance, Objective(("price",)))


def test_it_needs_no_schedule_to_begin_with():
    assert ask(SEARCH, Brief(topcuoglu(), Budget(iterations=50_000))).schedule.makespan == 73


def test_a_deadline_that_list_orders_miss_is_met():
    """
    b (4 s) comes first by rank; a (1 s) has to end by 1 s, so a goes before b: 5 s in all.
    """
    tasks = [Task("b", seconds=4), Task("a", seconds=1, deadline=1.0)]
    instance = Instance.price(TaskGraph.from_tasks(tasks, []), Cluster([Worker("w")]))
    found = ask(SEARCH, Brief(instance, Budget(iterations=200))).schedule
    check_schedule(instance, found)
    assert found.end[list(found.task).index(1)] == 1.0


@pytest.mark.parametrize("seconds", [0.26, 0.3, 0.9])
def test_what_takes_no_time_comes_before_what_needs_it(seconds):
    """Justified to the right, it starts with its consumer, but for the rounding of the sums."""
    durations = np.outer([0.0, seconds, seconds, seconds], [1.43, 4.5, 1.0, 3.1, 2.05])
    edges = [(0, 1, 3), (0, 2, 3), (1, 3, 3)]
    instance = Instance.from_arrays(durations, edges, latency=0.5, seconds_per_byte=1.0)
    proposals = list(LocalSearch().plan(Brief(instance, Budget(iterations=300))))
    found = [each.schedule for each in proposals if each.schedule is not None]
    for schedule in found:
        check_schedule(instance, schedule)
    assert found[-1].makespan == pytest.approx(3 * seconds)


def test_what_is_due_first_runs_first_when_tardiness_counts():
    """One worker; a (3 s, due 3) and b (1 s, due 1): b, a costs 1 s, and a, b costs 3 s."""
    tasks = [Task("a", seconds=3, due=3.0), Task("b", seconds=1, due=1.0)]
    instance = Instance.price(TaskGraph.from_tasks(tasks, []), Cluster([Worker("w")]))
    brief = Brief(instance, Budget(iterations=200), Objective(("tardiness",)))
    assert ask(SEARCH, brief).schedule.start.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("seed", range(8))
def test_several_threads_and_deadlines_are_kept(seed):
    rng = np.random.default_rng(100 + seed)
    instance = random_instance(rng, 15, 3, deadline=True, release=True, threads=False)
    found = ask(SEARCH, Brief(instance, Budget(iterations=500, seed=seed))).schedule
    if found is not None:
        check_schedule(instance, found)


@pytest.mark.parametrize("seed", range(8))
def test_on_tiny_instances_it_finds_the_optimum(seed):
    """The time-indexed program knows it; these are small enough for the search to find it."""
    rng = np.random.default_rng(seed)
    traits = {"eligible": seed % 2 == 0, "release": True, "modes": seed % 3 == 0}
    instance = random_instance(rng, 5, 2, integer=True, deadline=seed % 4 == 0, **traits)
    found = ask(SEARCH, Brief(instance, Budget(iterations=5_000, seed=seed))).schedule
    check_schedule(instance, found)
    assert found.makespan == optimal_makespan(instance, 1.0).makespan


def test_a_large_graph_gets_better_in_few_moves():
    """A thousand independent pairs, placed on one of two equal workers: half the time is idle."""
    n = 2_000
    instance = Instance.from_arrays(np.ones((n, 2)), [(i, i + 1, 1.0) for i in range(0, n, 2)])
    order = np.arange(n)
    begin = place(instance, Choice(order, worker=np.zeros(n, dtype=np.int64)))
    found = ask(SEARCH, Brief(instance, Budget(iterations=50), incumbent=begin)).schedule
    check_schedule(instance, found)
    assert found.makespan == n / 2


def test_a_seed_that_comes_later_is_searched_from():
    """A new incumbent and a seed, handed over between two proposals, change what is found."""
    instance = random_instance(np.random.default_rng(1), 40, 4)
    begin = plan(instance, Budget(seconds=0.0), planners=["heft"]).schedule
    better = ask(SEARCH, Brief(instance, Budget(iterations=20_000), incumbent=begin)).schedule
    brief = Brief(instance, Budget(iterations=400), incumbent=begin)
    best = begin.makespan
    for step, proposal in enumerate(SEARCH.plan(brief)):
        if proposal.schedule is not None:
            assert proposal.schedule.makespan < best
            best = proposal.schedule.makespan
        if step == 0:
            brief.incumbent, brief.seeds, best = better, (begin,), better.makespan
    assert best <= better.makespan


def test_what_it_has_found_itself_is_no_news_to_it():
    """A board hands every schedule that it takes over back to all planners: the search goes on as
    if it had not, with the leg of a seed that came meanwhile."""
    instance = random_instance(np.random.default_rng(2), 40, 4)
    seed = plan(instance, Budget(seconds=0.0), planners=["heft"]).schedule

    def found(*, is_told):
        brief, makespans = Brief(instance, Budget(iterations=4_000)), []
        for proposal in SEARCH.plan(brief):
            if proposal.schedule is not None:
                makespans.append(proposal.schedule.makespan)
                brief.incumbent = proposal.schedule if is_told else None
            brief.seeds = (seed,)
        return makespans

    assert found(is_told=True) == found(is_told=False)
