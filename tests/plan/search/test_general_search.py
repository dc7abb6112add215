"""The general local search: valid under every constraint, known optima, repeatable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchestrator_core import Budget, Instance, check_schedule
from orchestrator_core.graph import Cluster, Edge, Link, Mode, Task, TaskGraph, Worker
from orchestrator_core.graph.formats import read_cluster, read_workflow
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.search.general_search import GeneralSearch
from tests.plan.asking import ask
from tests.strategies import FLAGS, random_instance, serial_schedule

SEARCH = GeneralSearch()
INSTANCES = Path(__file__).parents[2] / "instances"


def published(name: str) -> Instance:
    cluster = read_cluster(INSTANCES / name)
    assert cluster is not None
    return Instance.price(read_workflow(INSTANCES / name), cluster)


def some(seed: int, tasks: int = 14, **flags: bool) -> Instance:
    """A random instance of these constraints and, by coin, of others, that the search takes."""
    rng = np.random.default_rng(seed)
    drawn = {flag: bool(rng.random() < 0.4) for flag in FLAGS} | {"resources": True} | flags
    return random_instance(rng, tasks, int(rng.integers(1, 4)), **drawn)


@pytest.mark.parametrize(
    ("name", "optimum", "most"),
    [
        ("psplib-j30-13.rcp", 43, 43),
        ("mmlib-j50-2-4.mm", 24, 27),
        ("jsplib-ft06.txt", 55, 55),
    ],
)
def test_it_comes_near_published_optima_without_a_schedule_to_begin_with(
    name: str, optimum: float, most: float
) -> None:
    """Proven optimal by others; see the README beside the files."""
    instance = published(name)
    brief = Brief(instance, Budget(iterations=6_000), lower_bound=optimum)
    found = ask(SEARCH, brief).schedule
    assert found is not None
    check_schedule(instance, found)
    assert optimum <= found.makespan <= most


@pytest.mark.parametrize("flag", FLAGS)
def test_its_schedules_are_valid_under_every_constraint(flag: str) -> None:
    for seed in range(3):
        instance = some(seed, **{flag: True})
        assert SEARCH.unsupported(instance) is None
        found = ask(SEARCH, Brief(instance, Budget(iterations=2_000, seed=seed))).schedule
        assert found is not None
        check_schedule(instance, found)


@pytest.mark.parametrize("seed", range(8))
def test_it_proposes_only_what_beats_the_incumbent(seed: int) -> None:
    instance = some(seed)
    incumbent = serial_schedule(instance)
    brief, best = Brief(instance, Budget(iterations=500), incumbent=incumbent), incumbent.makespan
    for proposal in SEARCH.plan(brief):
        if proposal.schedule is not None:
            assert proposal.schedule.makespan < best
            best = proposal.schedule.makespan


@pytest.mark.parametrize("seed", range(6))
def test_it_goes_on_from_a_better_schedule_that_comes_in_between(seed: int) -> None:
    """The optimum of another run is handed in; nothing worse is proposed from then on."""
    instance = some(seed, tasks=20)
    better = ask(SEARCH, Brief(instance, Budget(iterations=3_000, seed=7))).schedule
    assert better is not None
    brief = Brief(instance, Budget(iterations=3_000))
    proposals = SEARCH.plan(brief)
    next(proposals)
    brief.incumbent = better
    for proposal in proposals:
        assert proposal.schedule is None or proposal.schedule.makespan < better.makespan


@pytest.mark.parametrize("flags", [{"encode": True, "memory": True}, {"modes": True}])
def test_the_same_seed_and_steps_give_the_same_bytes(flags: dict[str, bool]) -> None:
    instance = random_instance(np.random.default_rng(5), 25, 3, resources=True, **flags)
    first, again = (
        ask(SEARCH, Brief(instance, Budget(iterations=1_500, seed=3))).schedule for _ in range(2)
    )
    assert first is not None
    assert again is not None
    assert first.to_json() == again.to_json()


def shop(seed: int, size: int = 6) -> Instance:
    """A job shop of size x size tasks, each of 1 to 20 s, machines in random order."""
    rng = np.random.default_rng(seed)
    seconds = np.full((size * size, size), np.inf)
    for i in range(size):
        for k, m in enumerate(rng.permutation(size)):
            seconds[i * size + k, m] = rng.integers(1, 21)
    edges = [(t, t + 1, 0.0) for t in range(size * size - 1) if (t + 1) % size]
    return Instance.from_arrays(seconds, edges)


@pytest.mark.parametrize("seed", range(3))
def test_job_shops_are_valid_and_near_what_other_solvers_find(seed: int) -> None:
    """CP-SAT proves 108, 97 and 113 s for these three."""
    instance, optimum = shop(seed), (108, 97, 113)[seed]
    brief = Brief(instance, Budget(iterations=20_000, seed=seed), lower_bound=optimum)
    found = ask(SEARCH, brief).schedule
    assert found is not None
    check_schedule(instance, found)
    assert optimum <= found.makespan <= 1.02 * optimum


def test_it_changes_modes_until_the_stock_suffices() -> None:
    """Six tasks, each fast (1 s, 1 credit) or slow (3 s, none), one worker, 3 credits: 12 s."""
    modes = (Mode("fast", seconds=1, consumes={"credit": 1}), Mode("slow", seconds=3))
    tasks = [Task(f"t{i}", modes=modes) for i in range(6)]
    cluster = Cluster([Worker("w0")], stock={"credit": 3})
    instance = Instance.price(TaskGraph.from_tasks(tasks), cluster)
    found = ask(SEARCH, Brief(instance, Budget(iterations=500))).schedule
    assert found is not None
    check_schedule(instance, found)
    assert found.makespan == 12.0


def test_two_kinds_of_stock_are_kept_at_once() -> None:
    """Each mode saves one kind of stock and costs the other: half the tasks in each mode."""
    modes = (Mode("a", seconds=1, consumes={"x": 1}), Mode("b", seconds=2, consumes={"y": 1}))
    tasks = [Task(f"t{i}", modes=modes) for i in range(8)]
    cluster = Cluster([Worker("w0")], stock={"x": 4, "y": 4})
    instance = Instance.price(TaskGraph.from_tasks(tasks), cluster)
    found = ask(SEARCH, Brief(instance, Budget(iterations=500))).schedule
    assert found is not None
    check_schedule(instance, found)
    assert found.makespan == 12.0


def test_the_stock_goes_to_where_time_is_short() -> None:
    """Two chains of ten; a task takes 1 s for a credit, else 4 s in the first chain and 2 s in the
    second; ten credits. If the first chain has k of them, they take 40 - 3k and 10 + k s: 18 s for
    k = 8, and more for any other k."""
    tasks = [
        Task(
            f"{chain}{i}",
            modes=(Mode("a", seconds=1, consumes={"credit": 1}), Mode("b", seconds=slow)),
        )
        for chain, slow in (("s", 4), ("t", 2))
        for i in range(10)
    ]
    edges = [Edge(f"{chain}{i}", f"{chain}{i + 1}") for chain in "st" for i in range(9)]
    cluster = Cluster([Worker("w0", threads=2)], stock={"credit": 10})
    instance = Instance.price(TaskGraph.from_tasks(tasks, edges), cluster)
    found = ask(SEARCH, Brief(instance, Budget(iterations=300))).schedule
    assert found is not None
    check_schedule(instance, found)
    assert found.makespan == 18.0


def test_it_keeps_a_deadline_that_lists_by_length_miss() -> None:
    """The long path looks urgent, but the short task must go first: 1 + 9 s."""
    tasks = [
        Task("p", seconds=4, resources={"GPU": 1}),
        Task("q", seconds=5, resources={"GPU": 1}),
        Task("r", seconds=1, resources={"GPU": 1}, deadline=1),
    ]
    graph = TaskGraph.from_tasks(tasks, [Edge("p", "q")])
    instance = Instance.price(graph, Cluster([Worker("w0", threads=4, resources={"GPU": 1})]))
    found = ask(SEARCH, Brief(instance, Budget(iterations=200))).schedule
    assert found is not None
    check_schedule(instance, found)
    assert found.makespan == 10.0


def test_it_finds_a_way_where_every_order_by_length_runs_out_of_memory() -> None:
    """Twenty pairs: each first task leaves 5 bytes, the worker holds 12, so that no more than one
    pair may be open beside the next first task; all first tasks look more urgent."""
    tasks = [Task(f"a{i}", seconds=9, output_bytes=5) for i in range(20)]
    tasks += [Task(f"b{i}", seconds=1, memory=2) for i in range(20)]
    edges = [Edge(f"a{i}", f"b{i}") for i in range(20)]
    cluster = Cluster([Worker("w0", threads=2, memory=12)], Link())
    instance = Instance.price(TaskGraph.from_tasks(tasks, edges), cluster)
    found = ask(SEARCH, Brief(instance, Budget(iterations=200))).schedule
    assert found is not None
    check_schedule(instance, found)


def test_it_minimises_tardiness_where_asked() -> None:
    """Two tasks of 2 s on one GPU, both due at 2 s: the one of weight 5 goes first, 2 weighted
    seconds are late."""
    tasks = [
        Task("light", seconds=2, resources={"GPU": 1}, due=2, weight=1),
        Task("heavy", seconds=2, resources={"GPU": 1}, due=2, weight=5),
    ]
    cluster = Cluster([Worker("w0", threads=4, resources={"GPU": 1})])
    instance = Instance.price(TaskGraph.from_tasks(tasks), cluster)
    brief = Brief(instance, Budget(iterations=50), objective=Objective(("tardiness",)))
    found = ask(SEARCH, brief).schedule
    assert found is not None
    assert dict(zip(found.task_names, found.start.tolist(), strict=True))["heavy"] == 0.0


def test_instances_of_threads_alone_are_left_to_the_other_search() -> None:
    instance = Instance.from_arrays(np.ones((3, 2)), [(0, 1, 1.0)], seconds_per_byte=1.0)
    assert "threads" in (SEARCH.unsupported(instance) or "")


def test_it_says_which_objective_it_does_not_take() -> None:
    assert "memory" in (SEARCH.unsupported(some(0), Objective(("memory",))) or "")


def test_it_begins_nothing_that_is_longer_than_its_budget() -> None:
    """A first schedule of 200 tasks may take more than 1 ms; without any, it is made anyway."""
    rng = np.random.default_rng(0)
    instance = random_instance(rng, 200, 3, threads=True, encode=True)
    known = serial_schedule(instance)
    hurried = list(SEARCH.plan(Brief(instance, Budget(seconds=0.001), incumbent=known)))
    assert [proposal.schedule for proposal in hurried] == [None]
    assert "too few" in hurried[0].note
    assert ask(SEARCH, Brief(instance, Budget(seconds=0.001))).schedule is not None
